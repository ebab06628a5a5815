package gate

import (
	"hash/fnv"
	"iter"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// everyNamespace stands for the namespaces of a group. No namespace has that name.
const everyNamespace = "*"

// GroupOf names the configs of a name in all namespaces, which are copies of each other: their restarts are one
// fan-out for each content, whatever their namespaces.
func GroupOf(kind names.ConfigKind, name string) names.ConfigRef {
	return names.ConfigRef{Kind: kind, Namespace: everyNamespace, Name: name}
}

// IsGroup reports whether the name is that of a group.
func IsGroup(ref names.ConfigRef) bool { return ref.Namespace == everyNamespace }

// CopyOf returns the config itself, or the copy of a group in a namespace.
func CopyOf(config names.ConfigRef, namespace string) names.ConfigRef {
	if IsGroup(config) {
		config.Namespace = namespace
	}
	return config
}

// fanOuts returns the fan-outs of a cause. Copies of a config were edited at different moments, so their content
// identifies the fan-out.
func (c *Cause) fanOuts() iter.Seq[FanOut] {
	return func(yield func(FanOut) bool) {
		if c.Group != (names.ConfigRef{}) {
			if len(c.Moments) > 0 {
				yield(FanOutOfGroup(c.Group, c.Content))
			}
			return
		}
		for _, moment := range c.Moments {
			if !yield(FanOut{c.Config, moment}) {
				return
			}
		}
	}
}

// FanOutOfGroup returns the fan-out of a content of a group.
func FanOutOfGroup(group names.ConfigRef, content string) FanOut {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(content)) // a hash never fails to write
	return FanOut{group, names.Sequence(sum.Sum64())}
}

// namespacesForGroup is in how many namespaces a content must break workloads until a group is halted. In one,
// it may be for reasons of that namespace.
const namespacesForGroup = 2

// isEnough reports whether enough restarts have failed for a halt.
func (l *Ledger) isEnough(h *Halt) bool {
	if IsGroup(h.Config) {
		return len(h.namespaces) >= namespacesForGroup
	}
	failures := 0
	for _, related := range l.halts.related(h) {
		failures += related.failures
	}
	return failures > l.policy.Failures
}
