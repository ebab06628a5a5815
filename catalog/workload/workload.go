package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/validation"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/internal/values"
)

// Hold is what prevents a patched workload from restarting its pods by itself.
type Hold uint8

// The holds.
const (
	NoHold Hold = iota
	Paused
	OnDelete
	Partitioned
	// Untriggered workloads roll out nothing by themselves, whatever changes.
	Untriggered
	// InPlace workloads change the annotations of the pods that run, which restarts nothing. Unlike with the other
	// holds, the pods would look as if they had restarted; see [Hold.Prevents].
	InPlace
)

// Prevents returns why no restart may begin, empty if the patch of a restart does what it can.
func (h Hold) Prevents() string {
	if h != InPlace {
		return ""
	}
	return "its update strategy updates pods in place, which restarts nothing: set it to ReCreate"
}

// Workload is what the catalog keeps of a workload that opted in.
type Workload struct {
	Ref             names.WorkloadRef
	UID             types.UID
	ResourceVersion string
	// Selector selects the workload's pods, in the form that the API takes.
	Selector string
	// Template identifies the pod template without the restart timestamp,
	// PodTemplate the pod template with it.
	Template, PodTemplate record.Fingerprint
	// Timestamp is the restart timestamp of the pod template, empty if it has none.
	Timestamp string
	// References are sorted. If there are too many, References is empty, and there is no record.
	References []template.Reference
	Applied    record.AppliedState
	// Room is how many bytes of checksums can be recorded on the workload.
	Room int32
	// Evict is when the last restart began if it was one by eviction and may not be over, in seconds of Unix time by the clock
	// of the API server; otherwise 0. See [Workload.EvictedAt].
	Evict uint32
	// RestartAt is when the spec asks the workload's own controller to replace its pods, in seconds of Unix time, 0 if it
	// does not; see [OwnRestart].
	RestartAt uint32
	// Rollout is what the status says.
	Rollout Rollout
	// Excess says whether there are too many references. The controller then leaves the workload alone.
	Excess Excess
	// Idle means that the workload wants no pods. Some may still run, and stay if it wants pods
	// again before its controller has deleted them.
	Idle bool
	// Deleting means that the workload is being deleted.
	Deleting bool
	Hold     Hold
	// TemplateHold is what would be the Hold if the workload did not restart by eviction. It concerns only the rollout of
	// another pod template; see [Workload.AwaitsRollout].
	TemplateHold Hold
	// OwnRecord means that the present record was decided on a view of the catalog, which
	// therefore knew what the record says. A [catalog.Catalog] sets it.
	OwnRecord bool
	// RecordUndone means that the record was trusted for the present template before, apart from
	// restarts, and that another client removed or replaced it. A [catalog.Catalog] sets it.
	RecordUndone bool
	// GracePeriod is how long changes are held back for this workload; nil means the controller's
	// default. Problem describes what is wrong with the annotation that sets it, and is empty if
	// the annotation is valid or absent. Neither is nil nor empty if the annotation exceeds [LongestGracePeriod].
	GracePeriod *time.Duration
	Problem     string
	// Policy is what the annotations ask of restarts, nil for most workloads.
	Policy *policy.WorkloadPolicy
	// OptedIn is the earliest known time by which the workload had opted in, by the API server's
	// clock in whole seconds; zero if it is not known.
	OptedIn time.Time

	// Writers is nil while the record is trusted.
	Writers *Writers
	// Filtering is what is known of the filters, nil for most workloads.
	Filtering *Filtering

	// EnabledSeen is the moment at which the watch first showed the workload as opted in, and
	// EnabledAfter is a moment until which it had not opted in: before the same event, or before
	// the list that followed a gap; 0 if it had opted in before the catalog watched. A [catalog.Catalog]
	// sets them.
	EnabledAfter, EnabledSeen names.Sequence
	// PodTemplateSeen is the moment at which the watch first showed the present pod template, 0 if
	// only a list showed it. A [catalog.Catalog] sets it.
	PodTemplateSeen names.Sequence
	// RecordSeen is the moment of the decision on the present record, or of the first observation
	// of it.
	RecordSeen names.Sequence
	// PodsSeen is the moment at which the pods of the present template were last found to have the
	// recorded content, since the record; 0 if they were not. A [catalog.Catalog] sets it.
	PodsSeen names.Sequence
	// Woke is the moment at which the watch showed that the workload, idle before, wants pods
	// again; 0 if it never showed that.
	Woke names.Sequence
}

// Writers are field managers that wrote parts of a workload, each empty if the API does not show it.
type Writers struct {
	// Template wrote the timestamp of the pod template or, without a timestamp, wrote last.
	Template annotation.TimestampWriter
	// Record last wrote the annotations of the record, if they exist.
	Record string
}

// writers returns the known writers.
func (w *Workload) writers() Writers {
	if w.Writers == nil {
		return Writers{}
	}
	return *w.Writers
}

// RecordWriter returns [Writers.Record], which is empty while the record is trusted.
func (w *Workload) RecordWriter() string { return w.writers().Record }

// Rested reports whether the workload wanted no pods, or may have wanted no pods, at some time
// since its record. Its present pods may then be younger than the record.
func (w *Workload) Rested() bool { return w.Idle || w.Woke > 0 && w.Woke >= w.RecordSeen }

// Parts holds what the kinds of workloads have in common, wherever each kind has it.
type Parts struct {
	Meta *metav1.ObjectMeta
	// Problem is why the object cannot be restarted, empty if it can. With a problem, only Meta is of use, and the
	// annotations of Template, unless it is nil.
	Problem  string
	Selector *metav1.LabelSelector
	Template *corev1.PodTemplateSpec
	// Replacement is [ReplacementTime] if the deadline of the Rollout does not contain it: a Deployment need not wait
	// until a pod has terminated, but a restart by eviction does.
	Replacement int32
	// Idle, Hold and Rollout are those of the [Workload].
	Idle    bool
	Hold    Hold
	Rollout Rollout
	// RestartAt is when the spec asks the workload's own controller to replace its pods, zero if it does not.
	RestartAt time.Time
	// Understood is what [dialect.Understand] adds.
	Understood policy.Understood
	// Owned is who owns which fields, nil if nobody has asked yet.
	Owned *annotation.Ownership
}

// Ownership returns who owns what of the workload.
func (p *Parts) Ownership() *annotation.Ownership {
	if p.Owned != nil {
		return p.Owned
	}
	return annotation.OwnershipOf(p.Meta)
}

// NewWorkload reduces a workload to what the catalog keeps of it. It does not modify the parts.
func NewWorkload(kind names.WorkloadKind, parts *Parts) (Workload, error) {
	if parts.Problem != "" {
		return Workload{}, errors.New(parts.Problem)
	}
	meta, pod, owned := parts.Meta, parts.Template, parts.Ownership()
	pods, err := metav1.LabelSelectorAsSelector(parts.Selector)
	if err != nil {
		return Workload{}, fmt.Errorf("read selector: %w", err)
	}
	full, bare := record.Fingerprints(pod)
	gracePeriod, problem := ReadGracePeriod(meta)
	rules, filter := policy.ReadWorkloadPolicy(meta, parts.Understood)
	references, fit := template.ReferencesOf(meta.Namespace, &pod.Spec, filter)
	w := Workload{
		Ref:             names.WorkloadRef{Kind: kind, Namespace: meta.Namespace, Name: meta.Name},
		UID:             meta.UID,
		ResourceVersion: meta.ResourceVersion,
		Selector:        pods.String(),
		Template:        bare,
		PodTemplate:     full,
		References:      references,
		Deleting:        meta.DeletionTimestamp != nil,
		GracePeriod:     gracePeriod,
		Problem:         problem,
		Policy:          rules,
		OptedIn:         owned.OptedInBy(),
		Timestamp:       annotation.TimestampOf(pod),
		Idle:            parts.Idle,
		Hold:            parts.Hold,
		Rollout:         parts.Rollout,
		RestartAt:       clampedSeconds(parts.RestartAt),
	}
	if !fit {
		w.Excess = TooManyReferences
	}
	if fit {
		w.Policy = rules.Rejecting(annotation.OnlyAnnotation, filter.ProblemOfOnly(meta.Namespace, &pod.Spec, references))
	}
	w.keepTemplate()
	if w.Method() == policy.ByEviction {
		w.Rollout.Deadline = max(w.Rollout.Deadline, parts.Replacement)
	}
	if fit {
		w.Applied = record.ReadRecord(meta, owned, pod, bare).KeptFor(references)
		w.Filtering = NewFiltering(filter, &w.Applied, func(by template.Filter) []template.Reference {
			recorded, _ := template.ReferencesOf(meta.Namespace, &pod.Spec, by)
			return recorded
		})
	}
	w.Room = int32(record.RoomForChecksums(meta, filter, w.Applied.Filter())) //nolint:gosec // no more than annotations may have
	w.Evict = readEvict(meta, owned, &w.Applied)
	if fit && !w.Applied.Trusted {
		w.Writers = &Writers{Template: owned.TimestampWriter(), Record: owned.RecordWriter()}
	}
	return w, nil
}

// LongestGracePeriod is the longest grace period that a workload may have. Changes are remembered until it ends.
const LongestGracePeriod = 24 * time.Hour

// ReadGracePeriod reads the workload's own grace period, if it has one. One that is too long counts as the longest.
func ReadGracePeriod(meta *metav1.ObjectMeta) (period *time.Duration, problem string) {
	text, found := meta.Annotations[annotation.GracePeriodAnnotation]
	if !found {
		return nil, ""
	}
	parsed, err := values.Duration(text)
	switch {
	case err != nil:
		return nil, fmt.Sprintf("annotation %s: %v", annotation.GracePeriodAnnotation, err)
	case parsed < 0:
		return nil, fmt.Sprintf("annotation %s: %.40q is negative", annotation.GracePeriodAnnotation, text)
	case parsed > LongestGracePeriod:
		return new(LongestGracePeriod), fmt.Sprintf("annotation %s: %.40q is longer than a day", annotation.GracePeriodAnnotation, text)
	}
	return &parsed, ""
}

// GraceProblem describes why the workload's own grace period cannot be used, and what is used instead: the standard, unless
// it was too long. It is empty if nothing is wrong.
func (w *Workload) GraceProblem(standard string) string {
	if w.Problem == "" {
		return ""
	}
	if w.GracePeriod != nil {
		standard = w.GracePeriod.String()
	}
	return w.Problem + "; " + standard + " is used instead"
}

// Grace returns how long changes are held back for the workload, given the controller's default.
func (w *Workload) Grace(standard time.Duration) time.Duration {
	if w.GracePeriod != nil {
		return *w.GracePeriod
	}
	return standard
}

// Configs returns the configs that the workload references, sorted, each once.
func (w *Workload) Configs() []names.ConfigRef {
	configs := make([]names.ConfigRef, 0, len(w.References))
	for references := range names.Runs(w.References, template.OfOneConfig) {
		configs = append(configs, references[0].Config)
	}
	return configs
}

// Readers returns the containers whose starts matter to a decision, sorted, each once: those that read
// configs from their environment. If programs read configs through the API, or files that change, all
// containers matter.
func (w *Workload) Readers() []string {
	var containers []string
	for _, reference := range w.References {
		switch reference.Channel {
		case template.Environment:
			containers = append(containers, reference.Container)
		case template.API:
			containers = append(containers, names.EveryContainer)
		case template.Volume:
			if reference.Config.Kind.IsPerPod() {
				containers = append(containers, names.EveryContainer)
			}
		}
	}
	slices.Sort(containers)
	return slices.Compact(containers)
}

// ReadWith returns the workload as it can be read with the given key: without recorded checksums
// that were made with another key. It does not modify the workload.
func (w *Workload) ReadWith(key content.ChecksumKey) *Workload {
	if w.IsReadableWith(key) {
		return w
	}
	readable := *w
	readable.Applied.Checksums = w.Applied.Checksums.Public()
	return &readable
}

// IsReadableWith reports whether the recorded checksums of Secrets, if there are any, were made with
// the given key.
func (w *Workload) IsReadableWith(key content.ChecksumKey) bool {
	return w.Applied.Key == "" || w.Applied.Key == key.ID()
}

// IsLaterVersion reports whether a resource version is later than another. The API server makes those of one kind comparable:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions. If they cannot be compared, any different
// version counts as later.
func IsLaterVersion(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0 || err != nil && version != than
}

// VisibleChanges returns the names of the keys in which two contents of a config differ for the
// workload: of the keys that its containers see, those that were changed, added or removed. Either
// content may be nil, for a config that does not exist. Changes of an ignored config are not visible.
func (w *Workload) VisibleChanges(ref names.ConfigRef, before, after *content.Config) []string {
	if w.Ignores(after) {
		return nil
	}
	selected := content.Selections(template.ReferencesTo(w.References, ref))
	return content.ChangedKeys(before.SeenBy(selected), after.SeenBy(selected))
}

// Unseen returns the names of the keys that a config has and that no container of the workload sees, or that do not count.
// It is sorted. The config may be nil.
func (w *Workload) Unseen(config *content.Config) []string {
	if config == nil {
		return nil
	}
	return content.ChangedKeys(config.Keys, config.Seen(content.Selections(template.ReferencesTo(w.References, config.Ref))))
}

// SeesAllButHidden reports whether the workload sees all keys that a config may have, but for those that the pod template
// hides, because something else has their names there. Its annotations then leave out none.
func (w *Workload) SeesAllButHidden(ref names.ConfigRef) bool {
	byRules := func(r template.Reference) bool { return r.Keys.ByRules }
	return w.Filter() == (template.Filter{}) && slices.ContainsFunc(template.ReferencesTo(w.References, ref), byRules)
}

// Recorded reports whether the record has a checksum of the config, which must not be a Secret, and
// whether it is that of what the workload sees of the config.
func (w *Workload) Recorded(config *content.Config) (isRecorded, isSame bool) {
	recorded, isRecorded := w.Applied.Checksums[config.Ref]
	selected := content.Selections(w.RecordedReferences(config.Ref))
	return isRecorded, isRecorded && recorded == config.Checksum(selected, content.ChecksumKey{})
}

// Selects reports whether the workload reads all of these keys of a config, if the config has them. No keys mean all that it
// reads.
func (w *Workload) Selects(ref names.ConfigRef, keys []string) bool {
	selects := w.KeySelector(ref)
	return selects != nil && !slices.ContainsFunc(keys, func(key string) bool { return !selects(key) })
}

// KeySelector returns a function that reports whether the workload reads a key of a config, if the config has it; nil if it reads
// none. It has sorted what the workload reads, so that very many keys can be looked at.
func (w *Workload) KeySelector(ref names.ConfigRef) func(key string) bool {
	selected := content.Selections(template.ReferencesTo(w.References, ref))
	if len(selected) == 0 {
		return nil
	}
	return func(key string) bool {
		return slices.ContainsFunc(selected, func(s template.Selection) bool { return s.HasName(key) })
	}
}

// HoldNow returns why the workload holds restarts, empty if it does not, and since when.
func (w *Workload) HoldNow() (text string, set policy.HoldTime) {
	if w.Policy == nil {
		return "", policy.HoldTime{}
	}
	return w.Policy.Hold, w.Policy.HoldSet
}

// EnabledBy returns a workload that has counted since the given time, whatever its own annotation says about that. It
// does not modify the workload.
func (w *Workload) EnabledBy(since time.Time) *Workload {
	following := *w
	if w.OptedIn.IsZero() || since.Before(w.OptedIn) { // otherwise there is an earlier record
		following.OptedIn = since
	}
	return &following
}

// ReferencesTo returns the references to a config. The caller must not modify them.
func (w *Workload) ReferencesTo(config names.ConfigRef) []template.Reference {
	return template.ReferencesTo(w.References, config)
}

// ReadAs says in which ways the containers read a config, such as "environment, files".
func (w *Workload) ReadAs(config names.ConfigRef) string {
	var isRead [len(template.ChannelNames)]bool
	for _, reference := range w.ReferencesTo(config) {
		isRead[reference.Channel] = true
	}
	var ways []string
	for channel, name := range template.ChannelNames {
		if isRead[channel] {
			ways = append(ways, name)
		}
	}
	return strings.Join(ways, ", ")
}

// MayBeUnwatched reports whether a config that is not among those that are watched may be a Secret of the type that the
// controller does not watch, which its name does not show. One that the record has was of another type.
func (w *Workload) MayBeUnwatched(ref names.ConfigRef) bool {
	_, isRecorded := w.Applied.Checksums[ref]
	return ref.Kind == names.Secret && !isRecorded && len(validation.IsDNS1123Subdomain(ref.Name)) == 0
}
