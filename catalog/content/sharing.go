package content

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
)

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
