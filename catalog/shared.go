package catalog

import (
	"maps"
	"slices"
	"strings"
)

// A workload may name configs of other namespaces in [AlsoAnnotation]. A config counts for workloads of
// another namespace only if its own [ReadersAnnotation] names that namespace; otherwise it is as good as
// absent, and nobody learns that it exists.
//
// In the namespace of its readers, such a config has a name with a slash, NAMESPACE/NAME. To everything
// that knows configs by their names, it is a config of the readers' own namespace: what becomes of their
// restarts stays there, and concerns neither the config's owner nor readers elsewhere.

const (
	// maxReaders is how many bytes the annotation may have, and maxReaderEntries how many entries. Each is
	// compared with each namespace in which a workload names the config.
	maxReaders       = 1024
	maxReaderEntries = 50
)

// readers reads which namespaces a config is shared with. What cannot be used shares it with nobody.
func (r *policyReader) readers() string {
	text, found := r.annotations[ReadersAnnotation]
	switch {
	case !found:
		return ""
	case len(text) > maxReaders || strings.Count(text, ",") >= maxReaderEntries:
		r.reject(ReadersAnnotation, "the limits are %d bytes and %d entries; the config is not shared", maxReaders, maxReaderEntries)
		return ""
	}
	var usable []string
	for glob := range strings.SplitSeq(text, ",") {
		if glob = strings.TrimSpace(glob); glob == "" {
			continue
		}
		if err := checkGlob(glob); err != nil {
			r.reject(ReadersAnnotation, "cannot use %.60q: %v, so it shares the config with nobody", glob, err)
			continue
		}
		usable = append(usable, glob)
	}
	slices.Sort(usable)
	return strings.Join(slices.Compact(usable), ",")
}

// IsShared reports whether the config is one of another namespace.
func (r ConfigRef) IsShared() bool { return strings.Contains(r.Name, "/") }

// Source names the config itself, if it is one of another namespace.
func (r ConfigRef) Source() ConfigRef {
	namespace, name, isShared := strings.Cut(r.Name, "/")
	if !isShared {
		return r
	}
	return ConfigRef{r.Kind, namespace, name}
}

// sharedIn names a config in the namespace of readers.
func (r ConfigRef) sharedIn(namespace string) ConfigRef {
	return ConfigRef{r.Kind, namespace, r.Namespace + "/" + r.Name}
}

// isConfigName reports whether a text is the name of a config, or NAMESPACE/NAME.
func isConfigName(text string) bool {
	namespace, name, isShared := strings.Cut(text, "/")
	return namespace != "" && (!isShared || name != "" && !strings.Contains(name, "/"))
}

// sharing is what the watch showed of the [ReadersAnnotation] of a config: the last values, the present one
// last, and since when it had each. The moment is 0 if it may have had the value all the time.
type sharing []sharingStep

type sharingStep struct {
	readers string
	began   Sequence
	// isListed means that a list showed it, so that nobody knows whether the present content came first.
	isListed bool
}

// after returns the moment after which edits of the config count. What came with the annotation counts.
func (s sharingStep) after() Sequence {
	if s.began == 0 || s.isListed {
		return s.began
	}
	return s.began - 1
}

// maxSharingSteps is how many values are remembered. If there were more, the earlier ones count as the first
// one that is remembered.
const maxSharingSteps = 4

// sharedSince reports whether a config, which may be nil, is shared with a namespace, and how that began.
func (c *Config) sharedSince(namespace string) (since sharingStep, isShared bool) {
	if c == nil || c.Policy == nil {
		return since, false
	}
	if c.Policy.Shared == nil {
		return since, isReader(c.Policy.Readers, namespace)
	}
	for _, step := range slices.Backward(*c.Policy.Shared) {
		if !isReader(step.readers, namespace) {
			break
		}
		since, isShared = step, true
	}
	return since, isShared
}

func isReader(readers, namespace string) bool {
	for glob := range strings.SplitSeq(readers, ",") {
		if glob != "" && matchesGlob(glob, namespace) {
			return true
		}
	}
	return false
}

// followSharing notes on a config that has arrived with whom its previous state, which may be nil, was shared,
// and reports whether that has changed. The creation of a config that is shared from the start always counts.
func (a *arrival) followSharing(previous *Config, moment Sequence) (isNews bool) {
	if previous == nil || previous.Policy == nil && a.config.Policy == nil {
		return false
	}
	before, policy := ConfigPolicy{}, ConfigPolicy{}
	if previous.Policy != nil {
		before = *previous.Policy
	}
	if a.config.Policy != nil {
		policy = *a.config.Policy
	}
	policy.Shared = before.Shared
	if isNews = before.Readers != policy.Readers; isNews {
		policy.Shared = before.sharingThen(sharingStep{policy.Readers, moment, a.listed && !previous.Deleted})
	}
	a.config.Policy = unlessZero(policy)
	return isNews
}

// sharingThen returns the remembered values with another one.
func (p *ConfigPolicy) sharingThen(next sharingStep) *sharing {
	steps := sharing{{readers: p.Readers}}
	if p.Shared != nil {
		steps = slices.Clone(*p.Shared)
	}
	if more := len(steps) + 1 - maxSharingSteps; more > 0 {
		first := steps[0]
		steps = slices.Clone(steps[more:])
		steps[0].began, steps[0].isListed = first.began, first.isListed
	}
	steps = append(steps, next)
	return &steps
}

// whenGone returns what stays known of the policy of a config that is gone.
func (p *ConfigPolicy) whenGone() *ConfigPolicy {
	if p == nil {
		return nil
	}
	return unlessZero(ConfigPolicy{Readers: p.Readers, Shared: p.Shared})
}

// As returns a config of another namespace under the name that it has in the namespace of its readers, nil if
// it is gone or not shared with them. What came before it was shared does not count.
func (c *Config) As(ref ConfigRef) *Config {
	since, isShared := c.sharedSince(ref.Namespace)
	if !isShared || c.Deleted {
		return nil
	}
	shared, policy := *c, *c.Policy
	policy.CountsAfter = max(policy.CountsAfter, since.after())
	shared.Ref, shared.Policy = ref, &policy
	return &shared
}

// readersElsewhere holds the namespaces of the workloads that name a config of another namespace, whether it is
// shared with them or not.
type readersElsewhere map[ConfigRef]map[string]struct{}

func (r readersElsewhere) add(ref ConfigRef) {
	source := ref.Source()
	if r[source] == nil {
		r[source] = make(map[string]struct{})
	}
	r[source][ref.Namespace] = struct{}{}
}

func (r readersElsewhere) remove(ref ConfigRef) {
	source := ref.Source()
	if delete(r[source], ref.Namespace); len(r[source]) == 0 {
		delete(r, source)
	}
}

// NamesElsewhere returns the names that a config has in the namespaces with which it is shared and whose
// workloads name it, sorted.
func (c *Catalog) NamesElsewhere(ref ConfigRef) []ConfigRef {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.namesElsewhere(ref)
}

func (c *Catalog) namesElsewhere(ref ConfigRef) (names []ConfigRef) {
	namespaces := c.elsewhere[ref]
	if len(namespaces) == 0 {
		return nil
	}
	config := c.source(ref)
	for namespace := range namespaces {
		if _, isShared := config.sharedSince(namespace); isShared {
			names = append(names, ref.sharedIn(namespace))
		}
	}
	slices.SortFunc(names, compareConfigRefs)
	return names
}

// isSharedWithAny reports whether workloads name a config that is shared with their namespace.
func (c *Catalog) isSharedWithAny(ref ConfigRef) bool {
	config := c.source(ref)
	if config == nil || config.Policy == nil {
		return false
	}
	for namespace := range c.elsewhere[ref] {
		if _, isShared := config.sharedSince(namespace); isShared {
			return true
		}
	}
	return false
}

// addShared adds what is known of a config of another namespace, if it is shared with the workload. It reports
// whether the record is from before that, so that it says nothing about the config.
func (v *View) addShared(c *Catalog, ref ConfigRef) (isUnrecorded bool) {
	source := ref.Source()
	known := c.source(ref)
	config := known.As(ref)
	if config == nil {
		return false
	}
	if v.Configs[ref] = config; v.Sources == nil {
		v.Sources = make(map[ConfigRef]*Config)
	}
	v.Sources[ref] = known
	if past, found := c.past[source]; found {
		v.addPast(ref, past)
	}
	v.Listing = v.Listing || c.listing[source.Namespace] > 0
	since, _ := config.sharedSince(ref.Namespace)
	return since.began > v.Workload.RecordSeen
}

// Source returns what the catalog keeps of a config of the view: of the config itself if it is one of another
// namespace. It is the same value in each view until the config changes.
func (v *View) Source(ref ConfigRef) *Config {
	if source := v.Sources[ref]; source != nil {
		return source
	}
	return v.Configs[ref]
}

// withoutRecordOf returns the workload as if the record lacked these configs. It does not modify the workload.
func (w *Workload) withoutRecordOf(configs []ConfigRef) *Workload {
	isRecorded := func(ref ConfigRef) bool { _, found := w.Applied.Checksums[ref]; return found }
	if !slices.ContainsFunc(configs, isRecorded) {
		return w
	}
	without := *w
	without.Applied.Checksums = maps.Clone(w.Applied.Checksums) // which may be many, so once for all
	for _, ref := range configs {
		delete(without.Applied.Checksums, ref)
	}
	return &without
}
