package content

import (
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
