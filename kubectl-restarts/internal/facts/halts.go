package facts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// Halts are what the ConfigMap of halts says.
type Halts struct {
	// Known means that it could be read.
	Known bool
	// Hold is why all restarts are held, empty if they are not.
	Hold string
	// Active are the halts that nobody has resumed, and resumed the others, both sorted by config.
	Active, resumed []gate.Halt
	// unread are the entries that cannot be read, and why.
	unread map[string]string
}

// NewHalts reads the entries of the ConfigMap of halts as the controller does.
func NewHalts(data map[string]string) Halts {
	entries := gate.ReadEntries(data)
	slices.SortFunc(entries.Halts, func(a, b gate.Halt) int { return strings.Compare(a.Config.String()+a.ID, b.Config.String()+b.ID) })
	halts := Halts{Known: true, Hold: entries.Hold, unread: entries.Unread}
	for i := range entries.Halts {
		if h := &entries.Halts[i]; h.Resumed.IsZero() {
			halts.Active = append(halts.Active, *h)
		} else {
			halts.resumed = append(halts.resumed, *h)
		}
	}
	return halts
}

// Gaps says which entries have no effect.
func (h *Halts) Gaps() []status.Gap {
	if len(h.unread) == 0 {
		return nil
	}
	return []status.Gap{status.UnreadEntries(h.unread, gate.HoldEntry, status.Beginning{})}
}

// wrongResume describes why the annotation of a config resumes nothing; see [gate.ProblemOfResume].
func (h *Halts) wrongResume(config *content.Config) string {
	if config.Policy == nil {
		return ""
	}
	return gate.ProblemOfResume(config.Ref, config.Policy.Resume, config.Policy.ResumeSet, func(yield func(*gate.Halt) bool) {
		for _, halts := range [][]gate.Halt{h.Active, h.resumed} {
			for i := range halts {
				if halt := &halts[i]; (halt.Config.Source() == config.Ref || Concerns(halt, config.Ref)) && !yield(halt) {
					return
				}
			}
		}
	})
}

// IsOver reports whether a leader ends a halt of a config, or has just ended it: its owner resumes it, or its content has
// changed. HasContent means that the content of the config was read.
func IsOver(h *gate.Halt, config *content.Config, hasContent bool) bool {
	switch {
	case h.Config != config.Ref:
		return false
	case config.Policy != nil && config.Policy.Resume == h.ID:
		return true
	}
	return hasContent && !config.Ref.Kind.IsSecret() && config.ContentID(h.Keys, content.ChecksumKey{}) != h.Content
}

// Concerns reports whether a halt is of a config, or of the group of its copies in other namespaces.
func Concerns(h *gate.Halt, ref names.ConfigRef) bool {
	return h.Config == ref || h.Config == gate.GroupOf(ref.Kind, ref.Name)
}

// DescribeHalt says what a halt is about, how to see why, and how to end it.
func DescribeHalt(h *gate.Halt) string { return DescribeHaltWith(h, "", h.Command()) }

// DescribeHaltWith does so with what is to follow the beginning of the halt, and a command that shows why. Both may be empty. The
// command that ends the halt comes last, for those who copy it.
func DescribeHaltWith(h *gate.Halt, more, command string) string {
	if IsLookCommand(command) {
		more += status.LookWith(command)
	}
	return SumUpHalt(h) + more + "; revert it, or resume with: " + ResumeCommand(h)
}

// SumUpHalt says what a halt is about.
func SumUpHalt(h *gate.Halt) string {
	failed := make([]string, 0, len(h.Failed))
	for _, ref := range h.Failed {
		failed = append(failed, WorkloadName(ref))
	}
	what := ConfigName(h.Config)
	if len(h.Keys) > 0 {
		what += " (" + text.List(h.Keys, 10) + ")"
	}
	return fmt.Sprintf("%s has broken %s, halted since %s", what, text.List(failed, 3), h.Since.UTC().Format(time.RFC3339))
}
