package gitops

import (
	"cmp"
	"context"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

// flux has the health checks of examples/gitops/flux-kustomization.yaml by kind.
type flux map[string]*cel.StatusEvaluator

func newFlux(t *testing.T) flux {
	t.Helper()
	var kustomization struct {
		Spec struct{ HealthCheckExprs []kustomize.CustomHealthCheck }
	}
	readExample(t, "flux-kustomization.yaml", &kustomization)
	checks := flux{}
	for _, check := range kustomization.Spec.HealthCheckExprs {
		evaluator, err := cel.NewStatusEvaluator(&check.HealthCheckExpressions)
		if err != nil {
			t.Fatalf("%s: %v", check.Kind, err)
		}
		checks[check.Kind] = evaluator
	}
	return checks
}

func (f flux) health(ctx context.Context, object *unstructured.Unstructured) (string, error) {
	result, err := f[object.GetKind()].Evaluate(ctx, object)
	if err != nil {
		return "", err
	}
	return result.Status.String(), nil
}

func TestFluxsChecksSayWhatItsOwnSay(t *testing.T) {
	checks := newFlux(t)
	kinds := map[string]func(*rapid.T) string{
		"Deployment": func(t *rapid.T) string {
			available, progressing := rapid.SampledFrom([]string{"True", "True", "True", "False"}).Draw(t, "available"),
				rapid.SampledFrom([]string{"NewReplicaSetAvailable", "NewReplicaSetAvailable", "ReplicaSetUpdated", "ProgressDeadlineExceeded"}).Draw(t, "progressing")
			conditions := "conditions: [{type: Available, status: '" + available + "'}, {type: Progressing, status: 'True', reason: " + progressing + "}]"
			deadline := rapid.SampledFrom([]string{"", ", progressDeadlineSeconds: 600", ", progressDeadlineSeconds: 2147483647"}).Draw(t, "deadline")
			return deployment(counts(t, "replicas")+deadline,
				counts(t, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")+", "+rapid.SampledFrom([]string{conditions, conditions, conditions, conditions, "conditions: []", "collisionCount: 0"}).Draw(t, "conditions"))
		},
		"StatefulSet": func(t *rapid.T) string {
			// The API server gives each a partition, and its controller counts a pod as current until it is updated.
			of := rapid.SampledFrom([]string{"{type: OnDelete}", "{type: RollingUpdate, rollingUpdate: {partition: 0}}", "{type: RollingUpdate, rollingUpdate: {partition: 1}}"})
			return statefulSet(of.Draw(t, "strategy"), counts(t, "replicas", "updatedReplicas", "readyReplicas"))
		},
		"DaemonSet": func(t *rapid.T) string {
			of := rapid.SampledFrom([]string{"OnDelete", "RollingUpdate"})
			return daemonSet(of.Draw(t, "strategy"),
				"desiredNumberScheduled: 2, "+counts(t, "currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady"))
		},
	}
	for kind, draw := range kinds {
		t.Run(kind, func(t *testing.T) {
			seen := map[status.Status]int{}
			rapid.Check(t, func(r *rapid.T) {
				object := parse(r, draw(r))
				if rapid.IntRange(0, 9).Draw(r, "behind") == 0 {
					object.Object["status"].(map[string]any)["observedGeneration"] = object.GetGeneration() - 1
				}
				own, err := status.Compute(object)
				if err != nil {
					r.Fatal(err)
				}
				seen[own.Status]++
				requireFlux(r, checks, object, own.Status)
				mark(object)
				want := own.Status
				if want == status.CurrentStatus {
					want = status.InProgressStatus
				}
				requireFlux(r, checks, object, want) // the mark hides no other state
				optOut(object)
				requireFlux(r, checks, object, own.Status)
			})
			if seen[status.CurrentStatus] == 0 || seen[status.InProgressStatus] == 0 || kind == "Deployment" && seen[status.FailedStatus] == 0 {
				t.Errorf("the objects are all alike: %v", seen)
			}
		})
	}
}

func requireFlux(t rapid.TB, checks flux, object *unstructured.Unstructured, want status.Status) {
	t.Helper()
	if got, err := checks.health(context.Background(), object); err != nil || got != want.String() {
		t.Errorf("Flux says %q, %v, want %q, of %v", got, err, want, object.Object)
	}
}

// counts returns members with the number 2, of which up to two have another one. There are never fewer pods in all than of a kind.
func counts(t *rapid.T, members ...string) string {
	values := make(map[string]string, len(members))
	for range rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2}).Draw(t, "others") {
		member, others := rapid.SampledFrom(members).Draw(t, "member"), []string{"0", "1"}
		if member == "replicas" {
			others = []string{"3"}
		}
		values[member] = rapid.SampledFrom(others).Draw(t, "value")
	}
	var all []string
	for _, member := range members {
		all = append(all, member+": "+cmp.Or(values[member], "2"))
	}
	return strings.Join(all, ", ")
}
