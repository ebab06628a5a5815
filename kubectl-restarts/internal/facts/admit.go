package facts

import (
	"cmp"
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/window"
)

// Admit answers whether a restart of the workload for the configs may begin, as far as annotations, the
// hold of everything (empty if there is none), a halt (nil if there is none) and what its pods lack (empty if nothing is
// known) say. Only the controller's leader knows what else is under way, and whether it may evict pods.
func (w *Workload) Admit(configs []*content.Config, everything string, halt *gate.Halt, lacks string, now time.Time) gate.Answer {
	wishes := w.Wishes(configs, everything)
	closed, opens := wishes.Closed(func(window policy.Wish) (bool, time.Time, error) { return Closed(window, now) })
	hold := cmp.Or(w.Hold.Prevents(), wishes.Held(), w.MethodHold(true))
	request := gate.Request{Hold: hold, Missing: lacks, CannotRoll: w.CannotRoll(), Closed: closed, Opens: opens}
	return gate.Admit(&gate.Case{Request: request, Halt: halt}, now)
}

// Wishes returns what people ask of a restart of the workload for the configs.
func (w *Workload) Wishes(configs []*content.Config, everything string) policy.Wishes {
	return policy.Wishes{Everything: everything, Workload: w.Policy, Delivered: func(yield func(policy.Delivery) bool) {
		for _, config := range configs {
			d := policy.Delivery{Config: config.Ref}
			if config.Policy != nil {
				d.Policy, d.IsUrgent = *config.Policy, isUrgent(config)
			}
			if !yield(d) {
				return
			}
		}
	}}
}

// isUrgent reports whether the content of a config is known to be urgent. Only the controller can
// compute the id of the content of a Secret.
func isUrgent(config *content.Config) bool {
	return config.Policy.Urgent != "" && !config.Ref.Kind.IsSecret() && config.Policy.Urgent == ContentID(config)
}

// ContentID identifies the content of a ConfigMap.
func ContentID(config *content.Config) string {
	return config.ContentID(nil, content.ChecksumKey{})
}

// Closed reports whether a window is closed, when it opens, zero if that is not known, and why it cannot be read. That of
// the controller is not known here, and counts as open.
func Closed(wish policy.Wish, now time.Time) (isClosed bool, opens time.Time, err error) {
	if wish.By == policy.ByController {
		return false, time.Time{}, nil
	}
	w, err := window.Parse(wish.Text)
	isClosed, opens = window.IsClosed(w, err, now)
	return isClosed, opens, err
}

// KeepChanging says why a restart is put off for [gate.Backoff].
const KeepChanging = "its configs keep changing"

// Opening says when a closed window opens, as [policy.Wishes.Closed] names it.
func Opening(window string, opens time.Time) string {
	if opens.IsZero() {
		return window
	}
	return window + " opens at " + opens.UTC().Format(time.RFC3339)
}

// ByHand says what makes the pods restart of a workload that a patch does not restart.
func ByHand(hold workload.Hold) string {
	switch hold {
	case workload.Paused:
		return "it is paused: the pods restart when it is resumed"
	case workload.OnDelete:
		return "its update strategy is OnDelete: each pod restarts when it is deleted"
	case workload.Partitioned, workload.PartlyPartitioned:
		return "it has a partition: pods with an ordinal below it keep running until it is lowered"
	case workload.Untriggered:
		return "it has no trigger of the type ConfigChange: the pods restart with its next rollout"
	case workload.InPlace:
		return hold.Prevents()
	case workload.NoHold:
	}
	return ""
}
