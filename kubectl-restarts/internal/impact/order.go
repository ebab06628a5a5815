package impact

import (
	"fmt"
	"slices"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// order describes the order in which the workloads of each namespace restart. The rows are sorted.
func (k *known) order(rows []Row) []string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !r.Outcome.willRestart() })
	var order []string
	for len(rows) > 0 {
		namespace := rows[0].Namespace
		end := slices.IndexFunc(rows, func(r Row) bool { return r.Namespace != namespace })
		if end < 0 {
			end = len(rows)
		}
		order = append(order, fmt.Sprintf("Order in %s: %s", namespace, k.orderOf(rows[:end])))
		rows = rows[end:]
	}
	return order
}

// orderOf describes the order of the workloads of one namespace.
func (k *known) orderOf(rows []Row) string {
	if len(rows) == 1 {
		return "one workload only."
	}
	var waves []string
	largest := 0
	for len(rows) > 0 {
		wave, size := rows[0].Wave, 0
		for size < len(rows) && rows[size].Wave == wave {
			size++
		}
		waves = append(waves, fmt.Sprintf("wave %d (%s)", wave, text.Count(size, "workload")))
		largest, rows = max(largest, size), rows[size:]
	}
	way := k.way()
	if largest == 1 {
		return strings.Join(waves, ", then ") + "."
	}
	if len(waves) == 1 {
		return way + "."
	}
	return strings.Join(waves, ", then ") + "; in each wave " + way + "."
}

// way describes how a changed config reaches the workloads of a wave.
func (k *known) way() string {
	const gradual = "one workload first, then 1, 2, 4, … as restarts are delivered"
	allAtOnce := true
	for i := range k.Changes {
		rules := k.Changes[i].After.Policy
		if rules != nil && rules.FanOut == policy.Gradual {
			return gradual
		}
		allAtOnce = allAtOnce && rules != nil && rules.FanOut == policy.AllAtOnce
	}
	if allAtOnce {
		return "all at once, as far as the limit of restarts allows"
	}
	return gradual + ", if the controller runs with --fan-out=gradual, as in its manifests; otherwise all at once"
}
