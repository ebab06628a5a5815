package differential

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
)

// snapshot is what is compared.
type snapshot struct {
	Deployment  *appsv1.Deployment
	ReplicaSets map[string]*appsv1.ReplicaSet // by their names
	Events      []string
}

func (w *world) snapshot() *snapshot {
	s := &snapshot{Deployment: w.deployment().DeepCopy(), ReplicaSets: map[string]*appsv1.ReplicaSet{}, Events: joined(w.events.compared)}
	if s.Deployment != nil {
		s.Deployment.ResourceVersion = ""
	}
	for _, rs := range w.replicaSets() {
		rs = rs.DeepCopy()
		rs.ResourceVersion = ""
		if rs.Status.ObservedGeneration == rs.Generation {
			rs.Generation, rs.Status.ObservedGeneration = 0, 0 // counts the writes
		}
		s.ReplicaSets[rs.Name] = rs
	}
	return s
}

// sameInstant takes times for equal that are of one instant.
var sameInstant = cmp.Comparer(func(a, b metav1.Time) bool { return a.Sub(b.Time).Abs() <= tolerance })

// compare returns how the worlds differ.
func (h *history) compare(ctx context.Context) string {
	for _, w := range h.worlds() {
		if w.problem != "" {
			return fmt.Sprintf("%s: %s", w.title, w.problem)
		}
	}
	for tries := 0; ; tries++ {
		found := h.differences()
		if len(found.lines) == 0 {
			h.endIfPodsDiffer()
			return ""
		}
		if tries < 20 && h.mend(ctx) {
			continue
		}
		if h.end() {
			return ""
		}
		return fmt.Sprintf("seed %d, history %d, after %s: - original, + engine\n%s", h.seed, h.number, time.Since(h.start), strings.Join(found.lines, "\n"))
	}
}

// snapshots of both worlds, without what is not compared.
func (h *history) snapshots() (original, engine *snapshot) {
	original, engine = h.original.snapshot(), h.engine.snapshot()
	original.leaveOut()
	engine.leaveOut()
	h.leaveOutNothing(original, engine)
	return original, engine
}

func (h *history) differences() *differences {
	original, engine := h.snapshots()
	found := &differences{}
	if !apiequality.Semantic.DeepEqual(original, engine) {
		cmp.Equal(original, engine, sameInstant, cmpopts.EquateEmpty(), cmp.Reporter(found))
	}
	return found
}

func isEqual[T any](a, b T) bool { return cmp.Equal(a, b, sameInstant, cmpopts.EquateEmpty()) }

func isSameTemplate(a, b *corev1.PodTemplateSpec) bool { return deploymentutil.EqualIgnoreHash(a, b) }

// differences collects what go-cmp finds, one line for each: where, and the two values.
type differences struct {
	path  cmp.Path
	lines []string
}

// PushStep implements the interface of [cmp.Reporter], as do the other methods.
func (d *differences) PushStep(step cmp.PathStep) { d.path = append(d.path, step) }

// PopStep goes back to the parent.
func (d *differences) PopStep() { d.path = d.path[:len(d.path)-1] }

// Report takes the outcome of the comparison at the present path.
func (d *differences) Report(result cmp.Result) {
	if result.Equal() {
		return
	}
	original, engine := d.path.Last().Values()
	where := strings.TrimPrefix(d.path.GoString(), "{*differential.snapshot}.")
	d.lines = append(d.lines, fmt.Sprintf("%s: - %s + %s", where, valueOf(original), valueOf(engine)))
}

func valueOf(value reflect.Value) string {
	switch {
	case !value.IsValid():
		return "(nothing)"
	case value.Kind() == reflect.Pointer && !value.IsNil():
		value = value.Elem()
	}
	return fmt.Sprintf("%+v", value)
}

// scaling is an Event about the size of a ReplicaSet.
type scaling struct {
	direction, replicaSet string
	from, to              int
}

func parseScaling(event string) (s scaling, ok bool) {
	n, err := fmt.Sscanf(event, "Normal ScalingReplicaSet: Scaled %s replica set %s from %d to %d", &s.direction, &s.replicaSet, &s.from, &s.to)
	return s, err == nil && n == 4
}

func (s scaling) String() string {
	return fmt.Sprintf("Normal ScalingReplicaSet: Scaled %s replica set %s from %d to %d", s.direction, s.replicaSet, s.from, s.to)
}

// joined returns events with the steps of each ReplicaSet in one direction made one, sorted by ReplicaSet: in how many
// steps the size is reached, and in which order with others, depends on what each sync happens to see. An event that
// is repeated counts once.
func joined(compared []string) (events []string) {
	steps := map[string][]scaling{}
	var order []string
	for _, event := range compared {
		s, ok := parseScaling(event)
		if !ok {
			if !slices.Contains(events, event) {
				events = append(events, event)
			}
			continue
		}
		chain := steps[s.replicaSet]
		if len(chain) == 0 {
			order = append(order, s.replicaSet)
		}
		if last := len(chain) - 1; last >= 0 && chain[last].direction == s.direction && chain[last].to == s.from {
			chain[last].to = s.to
		} else {
			chain = append(chain, s)
		}
		steps[s.replicaSet] = chain
	}
	slices.SortFunc(order, strings.Compare)
	for _, name := range order {
		for _, s := range steps[name] {
			events = append(events, s.String())
		}
	}
	return events
}
