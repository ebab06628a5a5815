package facts

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/window"
)

// Admit answers whether a restart of the workload for the configs may begin, as far as annotations, the
// hold of everything (empty if there is none) and a halt (nil if there is none) say. What else is under
// way is known to the controller's leader only.
func (w *Workload) Admit(configs []*catalog.Config, everything string, halt *gate.Halt, now time.Time) gate.Answer {
	isClosed, opens := w.closed(configs, now)
	return gate.Admit(&gate.Case{
		Hold: w.hold(configs, everything), Halt: halt, CannotRoll: w.Hold != catalog.NoHold, IsClosed: isClosed, Opens: opens,
	}, now)
}

// hold returns why people hold the restart, empty if they do not.
func (w *Workload) hold(configs []*catalog.Config, everything string) string {
	if everything != "" {
		return "all restarts are held: " + everything
	}
	if w.Policy != nil && w.Policy.Hold != "" {
		return "the workload is held: " + w.Policy.Hold
	}
	for _, config := range configs {
		if config.Policy != nil && config.Policy.Hold != "" {
			return "the " + ConfigName(config.Ref) + " is held: " + config.Policy.Hold
		}
	}
	return ""
}

// closed reports whether the window of the workload is closed, or one of those of the configs if the
// workload has none, and when it opens; zero if never.
func (w *Workload) closed(configs []*catalog.Config, now time.Time) (isClosed bool, opens time.Time) {
	if w.Policy != nil && w.Policy.Window != "" {
		return Closed(w.Policy.Window, now)
	}
	for _, config := range configs {
		if config.Policy != nil && config.Policy.Window != "" {
			if isClosed, opens := Closed(config.Policy.Window, now); isClosed {
				return isClosed, opens
			}
		}
	}
	return false, time.Time{}
}

// Closed reports whether a window is closed, and when it opens; zero if it cannot be read or never
// opens.
func Closed(text string, now time.Time) (isClosed bool, opens time.Time) {
	w, err := window.Parse(text)
	if err != nil {
		return true, time.Time{}
	}
	isOpen, opens := w.At(now)
	return !isOpen, opens
}

// Opening says when a closed window opens.
func Opening(opens time.Time) string {
	if opens.IsZero() {
		return "its window cannot be read, or never opens"
	}
	return "its window opens at " + opens.UTC().Format(time.RFC3339)
}

// ByHand says what makes the pods restart of a workload that a patch does not restart.
func ByHand(hold catalog.Hold) string {
	switch hold {
	case catalog.Paused:
		return "it is paused: the pods restart when it is resumed"
	case catalog.OnDelete:
		return "its update strategy is OnDelete: each pod restarts when it is deleted"
	case catalog.Partitioned:
		return "it has a partition: pods with an ordinal below it keep running until it is lowered"
	case catalog.NoHold:
	}
	return ""
}

// ConfigName names a config as kubectl does.
func ConfigName(ref catalog.ConfigRef) string { return ref.Kind.String() + "/" + ref.Name }
