package facts

import (
	"fmt"

	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/internal/status"
)

// ReleaseAll says how to release the hold of everything.
const ReleaseAll = "release with: " + status.ReleaseAllCommand

// ReleaseCommand returns the command that removes the hold of a workload or a config.
func ReleaseCommand(namespace, name string) string {
	return fmt.Sprintf("kubectl restarts unhold -n %s %s", namespace, name)
}

// Release says how to release a hold of a workload.
func Release(hold policy.Wish, w *Workload) string {
	switch hold.By {
	case policy.ByWorkload:
		return "release with: " + ReleaseCommand(w.Ref.Namespace, w.Name())
	case policy.ByConfig:
		source := hold.Config.Source() // whose owner decides
		return "release with: " + ReleaseCommand(source.Namespace, ConfigName(source))
	case policy.ByController:
	}
	return ReleaseAll
}

// DescribeHold says which restarts of a workload a hold holds, why, and how to release it.
func DescribeHold(hold policy.Wish, w *Workload) string {
	what := "all restarts"
	switch hold.By {
	case policy.ByWorkload:
		what = "restarts of " + w.Name()
	case policy.ByConfig:
		what = "restarts for " + ConfigName(hold.Config)
	case policy.ByController:
	}
	return "held: " + what + " (" + Release(hold, w) + "): " + hold.Text
}

// HeldSince says since when the leader knows an object to hold restarts; empty if it does not know.
func HeldSince(holds *status.List[status.Hold], on fmt.Stringer) string {
	for i := range holds.Items {
		if hold := &holds.Items[i]; hold.On == on.String() {
			return Since(hold.Beginning)
		}
	}
	return ""
}

// SetAt says since when an object has its hold, by its managedFields; empty if these do not say so.
func SetAt(set policy.HoldTime) string {
	return Since(status.Beginning{Since: set.At, AtLeast: !set.IsExact})
}
