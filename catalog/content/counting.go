package content

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
)

// A config whose own annotation says so is ignored: its changes restart nobody. A record does not have
// its checksum, but says that it was ignored, so that a config that counts again is not taken for one
// that has appeared.

// IsIgnored reports whether a config, which may be nil, is ignored.
func (c *Config) IsIgnored() bool { return c != nil && c.Policy != nil && c.Policy.Ignored }

// CountsAfter returns the moment after which edits of a config, which may be nil, count; see [policy.ConfigPolicy].
func (c *Config) CountsAfter() names.Sequence {
	if c == nil || c.Policy == nil {
		return 0
	}
	return c.Policy.CountsAfter
}

// FollowIgnored notes on a config that has arrived whether its previous state, which may be nil, was
// ignored or lacked the mark, and reports whether that has changed. What came with the end of the annotation counts,
// unless a list shows it: nobody knows then what came first.
func (a *Arrival) FollowIgnored(previous *Config, moment names.Sequence) (isNews bool) {
	if previous == nil || previous.Deleted {
		return a.Config.IsIgnored()
	}
	begins, marked := moment-1, previous.MarkedAfter()
	if a.listed {
		begins = moment
	}
	after := previous.CountsAfter()
	if previous.IsIgnored() && !a.Config.IsIgnored() {
		after = begins
	}
	if !previous.IsMarked() && a.Config.IsMarked() {
		marked = begins
	}
	if after > 0 || marked > 0 {
		policy := policy.ConfigPolicy{}
		if a.Config.Policy != nil {
			policy = *a.Config.Policy
		}
		policy.CountsAfter, policy.MarkedAfter = after, marked
		a.Config.Policy = &policy
	}
	return previous.IsIgnored() != a.Config.IsIgnored() || previous.IsMarked() != a.Config.IsMarked()
}

// IsMarked reports whether a config, which may be nil, is marked.
func (c *Config) IsMarked() bool { return c != nil && c.Policy != nil && c.Policy.Marked }

// MarkedAfter is like [Config.CountsAfter] for workloads that need the mark.
func (c *Config) MarkedAfter() names.Sequence {
	if c == nil || c.Policy == nil {
		return 0
	}
	return c.Policy.MarkedAfter
}

// Readers returns with which namespaces the config is shared, empty if with none.
func (c *Config) Readers() string {
	if c.Policy == nil {
		return ""
	}
	return c.Policy.Readers
}

// SharedSince reports whether a config, which may be nil, is shared with a namespace, and how that began.
func (c *Config) SharedSince(namespace string) (since policy.SharingStep, isShared bool) {
	if c == nil || c.Policy == nil {
		return since, false
	}
	if c.Policy.Shared == nil {
		return since, policy.IsReader(c.Policy.Readers, namespace)
	}
	for _, step := range slices.Backward(*c.Policy.Shared) {
		if !policy.IsReader(step.Readers, namespace) {
			break
		}
		since, isShared = step, true
	}
	return since, isShared
}

// FollowSharing notes on a config that has arrived with whom its previous state, which may be nil, was shared,
// and reports whether that has changed. The creation of a config that is shared from the start always counts.
func (a *Arrival) FollowSharing(previous *Config, moment names.Sequence) (isNews bool) {
	if previous == nil || previous.Policy == nil && a.Config.Policy == nil {
		return false
	}
	before, rules := policy.ConfigPolicy{}, policy.ConfigPolicy{}
	if previous.Policy != nil {
		before = *previous.Policy
	}
	if a.Config.Policy != nil {
		rules = *a.Config.Policy
	}
	rules.Shared = before.Shared
	if isNews = before.Readers != rules.Readers; isNews {
		rules.Shared = before.SharingThen(policy.SharingStep{Readers: rules.Readers, Began: moment, IsListed: a.listed && !previous.Deleted})
	}
	a.Config.Policy = names.UnlessZero(rules)
	return isNews
}

// As returns a config of another namespace under the name that it has in the namespace of its readers, nil if
// it is gone or not shared with them. What came before it was shared does not count.
func (c *Config) As(ref names.ConfigRef) *Config {
	since, isShared := c.SharedSince(ref.Namespace)
	if !isShared || c.Deleted {
		return nil
	}
	shared, policy := *c, *c.Policy
	policy.CountsAfter = max(policy.CountsAfter, since.After())
	shared.Ref, shared.Policy = ref, &policy
	return &shared
}
