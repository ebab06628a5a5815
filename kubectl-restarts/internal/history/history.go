// Package history describes the revisions of a workload: who made each, what changed with it, and how its rollout ended. It makes
// no requests.
package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"kubernetes-deployment-restart-controller/internal/origin"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// Source is a revision as the cluster has it: a ReplicaSet or a ControllerRevision.
type Source struct {
	Number   int64
	Meta     *metav1.ObjectMeta
	Template *corev1.PodTemplateSpec
	Pods     *int32 // nil if that is not known
}

// Revision is one of a workload.
type Revision struct {
	Number int64     `json:"revision"`
	Made   time.Time `json:"made"`
	Pods   *int32    `json:"pods,omitempty"`
	// Origin is what made it, without the name of its ReplicaSet. Compared means that it follows from the revision before that is
	// left, of which there may have been others.
	origin.Origin
	Compared bool `json:"compared,omitempty"`
	// Ended is completed or failed, and Why why it failed; empty if nobody has noted that.
	Ended string `json:"ended,omitempty"`
	Why   string `json:"why,omitempty"`
}

// Of describes revisions, the oldest first.
func Of(sources []Source) []Revision {
	slices.SortStableFunc(sources, func(a, b Source) int { return cmp.Compare(a.Number, b.Number) })
	revisions := make([]Revision, len(sources))
	for i := range sources {
		s := &sources[i]
		r := Revision{Number: s.Number, Made: s.Meta.CreationTimestamp.Time, Pods: s.Pods}
		made, isNoted := origin.Decode(s.Meta.Annotations[origin.Annotation], s.Meta.Name)
		if _, isAgain := s.Meta.Annotations["deployment.kubernetes.io/revision-history"]; isAgain { // it was noted at an earlier revision
			made, isNoted = origin.Origin{}, false
		}
		if !isNoted && i > 0 {
			made, r.Compared = origin.Of(sources[i-1].Template, s.Template, nil), true
		}
		made.Of = ""
		r.Origin = made
		r.Ended, r.Why = endOf(s.Meta)
		revisions[i] = r
	}
	return revisions
}

// endOf returns how the rollout of a ReplicaSet ended, as the deployment engine has noted it for a Deployment that may fall back.
func endOf(meta *metav1.ObjectMeta) (ended, why string) {
	var outcome struct{ UID, Ended, Why string }
	if json.Unmarshal([]byte(meta.Annotations["com.xing.deployment-restart.outcome"]), &outcome) != nil || outcome.UID != string(meta.UID) {
		return "", ""
	}
	return outcome.Ended, outcome.Why
}

// Print writes a table for a person.
func Print(w io.Writer, revisions []Revision, options printers.PrintOptions, now time.Time) error {
	table := &metav1.Table{}
	for _, name := range []string{"Revision", "Age", "Pods", "By", "What", "Ended"} {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: name})
	}
	for i := range revisions {
		r := &revisions[i]
		pods := ""
		if r.Pods != nil {
			pods = strconv.Itoa(int(*r.Pods))
		}
		cells := []any{r.Number, facts.Age(now.Sub(r.Made))}
		for _, cell := range []string{pods, r.Manager, r.String(), text.Join(": ", r.Ended, r.Why)} {
			cells = append(cells, cmp.Or(text.Safe(cell), "-"))
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells})
	}
	if err := printers.NewTablePrinter(options).PrintObj(table, w); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return nil
}
