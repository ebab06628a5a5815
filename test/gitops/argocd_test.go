package gitops

import (
	"fmt"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// argoCD has the health checks of examples/gitops/argocd-cm.yaml.
type argoCD struct{ data map[string]string }

func newArgoCD(t *testing.T) argoCD {
	t.Helper()
	var patch struct{ Data map[string]string }
	readExample(t, "argocd-cm.yaml", &patch)
	return argoCD{patch.Data}
}

// health runs the check of an object as Argo CD does: with the libraries that load packages and change tables, and with all
// if the ConfigMap says so.
func (a argoCD) health(object *unstructured.Unstructured) (status string, err error) {
	key := "apps_" + object.GetKind()
	state := lua.NewState(lua.Options{SkipOpenLibs: a.data["resource.customizations.useOpenLibs."+key] != "true"})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return "", err
		}
	}
	state.SetGlobal("obj", toLua(state, object.Object))
	if err := state.DoString(a.data["resource.customizations.health."+key]); err != nil {
		return "", err
	}
	answer, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		return "", fmt.Errorf("the script for %s returns %s", key, state.Get(-1).Type())
	}
	return answer.RawGetString("status").String(), nil
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		table := state.NewTable()
		for _, item := range v {
			table.Append(toLua(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range v {
			table.RawSetString(key, toLua(state, item))
		}
		return table
	}
	return lua.LNil
}

func TestArgoCDsChecksSayWhatItsOwnSay(t *testing.T) {
	argo := newArgoCD(t)
	for name, c := range map[string]struct{ want, object string }{
		"a Deployment that runs":        {"Healthy", deployment(`replicas: 2`, `replicas: 2, updatedReplicas: 2, availableReplicas: 2`)},
		"a Deployment without pods":     {"Healthy", deployment(`replicas: 0`, ``)},
		"it is paused":                  {"Suspended", deployment(`replicas: 2, paused: true`, `replicas: 2`)},
		"its status is of before":       {"Progressing", deployment(`replicas: 0`, `observedGeneration: 2`)},
		"it has no status":              {"Progressing", `{kind: Deployment, metadata: {generation: 1}, spec: {replicas: 0}}`},
		"it lacks updated pods":         {"Progressing", deployment(`replicas: 2`, `replicas: 2, updatedReplicas: 1, availableReplicas: 2`)},
		"it has earlier pods":           {"Progressing", deployment(`replicas: 2`, `replicas: 3, updatedReplicas: 2, availableReplicas: 2`)},
		"it lacks available pods":       {"Progressing", deployment(`replicas: 2`, `replicas: 2, updatedReplicas: 2, availableReplicas: 1`)},
		"it exceeded its deadline":      {"Degraded", deployment(`replicas: 2`, `replicas: 2, updatedReplicas: 1, conditions: [{type: Available}, {type: Progressing, reason: ProgressDeadlineExceeded}]`)},
		"a StatefulSet that runs":       {"Healthy", statefulSet(`{type: RollingUpdate, rollingUpdate: {partition: 0}}`, `readyReplicas: 2, updatedReplicas: 2`)},
		"it rolls":                      {"Progressing", statefulSet(`{type: RollingUpdate, rollingUpdate: {partition: 0}}`, `readyReplicas: 2, updatedReplicas: 1`)},
		"it rolls down to a partition":  {"Healthy", statefulSet(`{type: RollingUpdate, rollingUpdate: {partition: 1}}`, `readyReplicas: 2, updatedReplicas: 1`)},
		"it lacks ready pods":           {"Progressing", statefulSet(`{type: RollingUpdate, rollingUpdate: {partition: 0}}`, `readyReplicas: 1, updatedReplicas: 2`)},
		"it waits for deletions":        {"Healthy", statefulSet(`{type: OnDelete}`, `readyReplicas: 2`)},
		"the status is of before":       {"Progressing", statefulSet(`{type: OnDelete}`, `readyReplicas: 2, observedGeneration: 2`)},
		"a DaemonSet that runs":         {"Healthy", daemonSet(`RollingUpdate`, `desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2`)},
		"it runs nowhere":               {"Healthy", daemonSet(`RollingUpdate`, `desiredNumberScheduled: 0`)},
		"a DaemonSet that rolls":        {"Progressing", daemonSet(`RollingUpdate`, `desiredNumberScheduled: 2, updatedNumberScheduled: 1, numberAvailable: 2`)},
		"a DaemonSet that lacks pods":   {"Progressing", daemonSet(`RollingUpdate`, `desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1`)},
		"pods of it wait for deletions": {"Healthy", daemonSet(`OnDelete`, `desiredNumberScheduled: 2`)},
		"it has an earlier status":      {"Progressing", daemonSet(`OnDelete`, `observedGeneration: 2`)},
	} {
		t.Run(name, func(t *testing.T) {
			object := parse(t, c.object)
			requireHealth(t, argo, object, c.want)
			mark(object)
			if c.want == "Healthy" {
				c.want = "Progressing"
			}
			requireHealth(t, argo, object, c.want) // the mark hides no other state
			optOut(object)
			if requireHealth(t, argo, object, argoWithoutMark(t, argo, object)); object.GetAnnotations()[basisAnnotation] == "" {
				t.Error("it is not marked")
			}
		})
	}
}

// argoWithoutMark returns what the check says of the same object without annotations.
func argoWithoutMark(t *testing.T, argo argoCD, object *unstructured.Unstructured) string {
	t.Helper()
	bare := object.DeepCopy()
	bare.SetAnnotations(nil)
	status, err := argo.health(bare)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func requireHealth(t *testing.T, argo argoCD, object *unstructured.Unstructured, want string) {
	t.Helper()
	if got, err := argo.health(object); err != nil || got != want {
		t.Errorf("Argo CD says %q, %v, want %q, of %v", got, err, want, object.Object)
	}
}
