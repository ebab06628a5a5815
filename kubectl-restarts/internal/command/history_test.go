package command_test

import (
	"fmt"
	"strings"
	"testing"
)

// replicaSets is a list of four.
const replicaSets = `{"kind":"ReplicaSetList","apiVersion":"apps/v1","items":[%s,%s,%s,%s]}`

func replicaSet(owner, revision, image string) string {
	return fmt.Sprintf(`{"metadata":{"name":"web-%s","ownerReferences":[{"uid":%q,"controller":true}],"annotations":{"deployment.kubernetes.io/revision":%q}},
		"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}},"status":{"replicas":2}}`, image, owner, revision, image)
}

func TestTheHistoryOfAWorkloadHasItsOwnRevisionsInTheirOrder(t *testing.T) {
	s := newServer(t)
	s.objects[webPath] = strings.Replace(deployment("{}"), `"name":"web"`, `"name":"web","uid":"u"`, 1)
	s.objects["/apis/apps/v1/namespaces/shop/replicasets"] = fmt.Sprintf(replicaSets, replicaSet("u", "12", "v2"), replicaSet("u", "3", "v1"), replicaSet("other", "4", "v9"), replicaSet("u", "x", "v9"))
	code, stdout, stderr := s.run(t.Context(), "history", "deployment/web")
	if lines := strings.Split(stdout, "\n"); code != 0 || len(lines) != 4 || !strings.HasPrefix(lines[1], "3 ") || !strings.HasPrefix(lines[2], "12 ") ||
		!strings.Contains(lines[2], "image of main: v1 to v2") || stderr != "note: 1 revision cannot be read, so is missing\n" {
		t.Errorf("%d\n%s%s", code, stdout, stderr)
	}
	code, stdout, _ = s.run(t.Context(), "history", "deployment/web", "-o", "json")
	if code != 0 || !strings.Contains(stdout, `"revision": 12`) || !strings.Contains(stdout, `"compared": true`) {
		t.Errorf("%d\n%s", code, stdout)
	}
}

func TestTheHistoryOfAStatefulSetIsThatOfItsControllerRevisions(t *testing.T) {
	s := newServer(t)
	revision := func(number int, image string) string {
		return fmt.Sprintf(`{"metadata":{"name":"db-%d","ownerReferences":[{"uid":"u","controller":true}]},"revision":%d,
			"data":{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}],"overhead":{"cpu":"1"}}}}}}`, number, number, image)
	}
	s.objects["/apis/apps/v1/namespaces/shop/statefulsets/db"] = strings.NewReplacer(`"name":"web"`, `"name":"db","uid":"u"`, "Deployment", "StatefulSet").Replace(deployment("{}"))
	s.objects["/apis/apps/v1/namespaces/shop/controllerrevisions"] = `{"kind":"ControllerRevisionList","apiVersion":"apps/v1","items":[` +
		revision(2, "v2") + "," + revision(1, "v1") + "," + strings.Replace(revision(3, "v3"), `"cpu":"1"`, `"cpu":"1e-2000000000"`, 1) + `]}`
	code, stdout, stderr := s.run(t.Context(), "history", "sts/db")
	if code != 0 || strings.Count(stdout, "\n") != 3 || !strings.Contains(stdout, "image of main: v1 to v2") || !strings.Contains(stderr, "1 revision cannot be read") {
		t.Errorf("%d\n%s%s", code, stdout, stderr)
	}
}

func TestWhatHasNoHistorySaysSo(t *testing.T) {
	s := newServer(t)
	for _, arguments := range [][]string{{"history", "configmap/settings"}, {"history", "deployment/none"}, {"history"}, {"history", "deployment/web", "-o", "xml"}} {
		if code, stdout, stderr := s.run(t.Context(), arguments...); code != 1 || stdout != "" || !strings.HasPrefix(stderr, "error: ") {
			t.Errorf("%v: %d, %s%s", arguments, code, stdout, stderr)
		}
	}
}
