package overview

import (
	"cmp"
	"fmt"
	"strings"

	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// FromLeader is what the leader of the controller says is under way. It takes the place of what Events and
// annotations show.
type FromLeader struct {
	// Name names the leader.
	Name string `json:"name"`
	*status.Overview
}

// Timeless returns the same without the time at which it was made.
func (l *FromLeader) Timeless() *FromLeader {
	if l == nil {
		return nil
	}
	return &FromLeader{l.Name, l.Overview.Timeless()}
}

// lists returns the workloads by what they wait for, those first that need attention.
func (l *FromLeader) lists() []status.List[status.Entry] {
	return []status.List[status.Entry]{l.Failed, l.Lacking, l.Retrying, l.Unready, l.LeftAlone, l.Held, l.Slowed, l.Waiting, l.Rolling, l.Pending}
}

// summary counts what is under way.
func (l *FromLeader) summary() string {
	var parts []string
	for i, name := range []string{"failed", "lacking a config", "retrying", "unready", "left alone", "held", "slowed", "due, undecided or waiting", "rolling", "pending"} {
		if total := l.lists()[i].Total; total > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", total, name))
		}
	}
	nothing := "nothing is under way"
	if len(l.Gaps) > 0 {
		nothing = "it knows of nothing that is under way, but does not see everything"
	}
	summary := "The leader (" + l.Name + ") says: " + cmp.Or(strings.Join(parts, ", "), nothing) + "."
	if l.DryRun {
		summary += " It is a dry run: nothing is restarted."
	}
	return summary
}

// kinds describes the further kinds of workloads that the controller cannot watch, or not all of which it can restart.
func (l *FromLeader) kinds() (kinds []string) {
	for _, kind := range l.Kinds {
		if kind.Missing {
			kinds = append(kinds, kind.Workload+" is not installed")
		}
		if kind.Unusable > 0 {
			kinds = append(kinds, fmt.Sprintf("%s: %d enabled but cannot be restarted, see their Events", kind.Workload, kind.Unusable))
		}
	}
	return kinds
}

// halts describes the halts, each with the command that ends it.
func (l *FromLeader) halts(prefix func(namespace string) string) []string {
	halts := []string{}
	for i := range l.Halts.Items {
		halt := &l.Halts.Items[i]
		record := gate.HaltRecord{ID: halt.ID, Config: halt.Config, Keys: halt.Keys, Content: "not shown", Failed: halt.Failed, Since: halt.Since}
		known, isOne := record.Halt()
		if !isOne {
			halts = append(halts, fmt.Sprintf("%s has broken %s%s; revert it", halt.Config, text.List(halt.Failed, 3), holdsBack(halt.Held)))
			continue
		}
		halts = append(halts, prefix(known.Config.Namespace)+facts.DescribeHaltWith(&known, holdsBack(halt.Held), halt.Command))
	}
	if l.Halts.More() > 0 {
		halts = append(halts, fmt.Sprintf("and %d more", l.Halts.More()))
	}
	return halts
}

func holdsBack(held int) string {
	if held == 0 {
		return ""
	}
	if held == 1 {
		return " (1 workload waits)"
	}
	return fmt.Sprintf(" (%d workloads wait)", held)
}

// holds lists the workloads on hold. Those of configs are read from their annotations.
func (l *FromLeader) holds(prefix func(namespace string) string) (holds []string) {
	for i := range l.Holds.Items {
		if hold := &l.Holds.Items[i]; !hold.IsConfig {
			namespace, name := split(hold.On)
			holds = append(holds, prefix(namespace)+name+": "+hold.Text+facts.Since(hold.Beginning))
		}
	}
	if l.Holds.More() > 0 {
		holds = append(holds, fmt.Sprintf("and %d more workloads or configs", l.Holds.More()))
	}
	return holds
}

// split splits a name such as "deployment/shop/web" into the namespace and the name as kubectl has it.
func split(name string) (namespace, short string) {
	kind, rest, _ := strings.Cut(name, "/")
	namespace, short, isWhole := strings.Cut(rest, "/")
	if !isWhole {
		return "", name
	}
	return namespace, kind + "/" + short
}
