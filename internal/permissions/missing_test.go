package permissions

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/status"
)

func TestMissingPermissionsAreToldWithWhatHelpsUntilTheyAreGranted(t *testing.T) {
	var written bytes.Buffer
	log := slog.New(slog.NewTextHandler(&written, nil))
	missing := &Missing{}
	if gaps := missing.Gaps("", nil); len(gaps) > 0 {
		t.Errorf("before a check: %+v", gaps)
	}
	lacked := []apiclient.Permission{
		{Verb: "list", Resource: "secrets", Namespace: "shop", Impact: "no workload restarts"},
		{Verb: "create", Resource: "pods/eviction", Namespace: "shop", Impact: "nothing is evicted", Manifest: "rbac-evict.yaml"},
		{Verb: "create", Resource: "pods", Namespace: "office", Impact: "no pods"},
		{Verb: "get", Resource: "configmaps", Namespace: "own", Name: "halts", Impact: "halts are ignored"},
	}
	missing.see(lacked, lacked, lacked, log)
	for _, want := range []string{`right="list secrets in namespace shop" without_it="no workload restarts" remedy="` + status.ApplyManifest, `remedy="Apply k8s-manifests/rbac-evict.yaml, `} {
		if !strings.Contains(written.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, &written)
		}
	}
	const lacks = "[!] The controller lacks the permission to "
	for name, test := range map[string]struct {
		namespace, said string
		want            []string
	}{
		"all":                               {"", "", []string{"list secrets in namespace shop, so no workload restarts, at least since ", "create pods/eviction in namespace shop, ", "create pods in namespace office, ", "get configmaps halts in namespace own, "}},
		"but for what a watch says":         {"shop", `secrets is forbidden: User "x" cannot list resource "secrets" in API group "" in the namespace "shop"`, []string{"create pods/eviction in namespace shop, ", "get configmaps halts in namespace own, "}},
		"said of another namespace":         {"", `User "x" cannot list resource "secrets" in API group "" in the namespace "a"`, []string{"list secrets in namespace shop, so no workload restarts, at least since ", "create pods/eviction in namespace shop, ", "create pods in namespace office, ", "get configmaps halts in namespace own, "}},
		"a subresource is not its resource": {"office", `cannot create resource "pods" in API group "" in the namespace "office"`, []string{"get configmaps halts in namespace own, "}},
	} {
		gaps := missing.Gaps(test.namespace, []status.Gap{{Why: test.said}})
		for i := range gaps {
			if line := gaps[i].Line(); len(gaps) != len(test.want) || !strings.HasPrefix(line, lacks+test.want[i]) || !strings.Contains(line, ": Apply ") {
				t.Errorf("%s: %s of %d, want %s", name, line, len(gaps), test.want)
			}
		}
	}
	refused := []status.Gap{{Why: `cannot list resource "secrets" in API group "" in the namespace "shop"`, Beginning: status.Beginning{Since: time.Now().Add(time.Hour)}}}
	if missing.Gaps("shop", refused); !refused[0].Since.Equal(missing.lacks[lacked[0]]) || !refused[0].AtLeast {
		t.Errorf("what is refused for lack of a permission began after the lack: %+v", refused[0].Beginning)
	}
	missing.see(nil, lacked, nil, log)
	if gaps := missing.Gaps("", nil); len(gaps) > 0 || strings.Count(written.String(), "missing permission") != len(lacked) {
		t.Errorf("once they are granted: %+v\n%s", gaps, &written)
	}
	for i := range lacked {
		if want := fmt.Sprintf("level=INFO msg=\"permission granted\" right=%q still_missing=0\n", &lacked[i]); strings.Count(written.String(), want) != 1 {
			t.Errorf("the log does not say once %s:\n%s", want, &written)
		}
	}
	missing.see(make([]apiclient.Permission, 500), nil, nil, log)
	if gaps := missing.Gaps("", nil); len(gaps) != maxMissing+1 {
		t.Errorf("of 500, it describes %d", len(gaps))
	}
}

func TestThatEditsAreNoticedLateIsNotSaidOfWhatCannotBeListed(t *testing.T) {
	list := apiclient.Permission{Verb: "list", Resource: "secrets", Impact: "no workload restarts"}
	watch := apiclient.Permission{Verb: "watch", Resource: "secrets", Impact: "the controller notices edits of Secrets late"}
	other := apiclient.Permission{Verb: "watch", Resource: "configmaps", Impact: "the controller notices edits of ConfigMaps late"}
	for name, test := range map[string]struct {
		missing []apiclient.Permission
		said    string
		want    int
	}{
		"neither":                         {[]apiclient.Permission{list, watch}, "", 1},
		"neither, and the watch says so":  {[]apiclient.Permission{list, watch}, `User "x" cannot list resource "secrets" in API group`, 0},
		"only listed":                     {[]apiclient.Permission{watch}, "", 1},
		"something else cannot be listed": {[]apiclient.Permission{list, other}, "", 2},
	} {
		missing := &Missing{}
		missing.see(test.missing, test.missing, test.missing, slog.New(slog.DiscardHandler))
		if gaps := missing.Gaps("", []status.Gap{{Why: test.said}}); len(gaps) != test.want {
			t.Errorf("%s: %+v", name, gaps)
		}
	}
}

func TestEachMissingPermissionIsLoggedOnce(t *testing.T) {
	var written bytes.Buffer
	log := slog.New(slog.NewTextHandler(&written, nil))
	both := []apiclient.Permission{{Verb: "list", Resource: "secrets"}, {Verb: "watch", Resource: "secrets"}}
	missing := &Missing{}
	missing.see(both, both, both, log)
	missing.see(both[1:], both, both[1:], log)
	for _, want := range []string{`msg="missing permission" right="list secrets"`, `msg="missing permission" right="watch secrets"`, `msg="permission granted" right="list secrets"`} {
		if strings.Count(written.String(), want) != 1 {
			t.Errorf("not once %s:\n%s", want, &written)
		}
	}
}
