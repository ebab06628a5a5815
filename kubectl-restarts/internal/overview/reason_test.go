package overview_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/printers"

	catalogpolicy "kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/overview"
)

func TestARefusedRestartIsShownWithWhoRefusesItAndWhatHelps(t *testing.T) {
	const account = `"system:serviceaccount:deployment-restart-controller:kubernetes-deployment-restart-controller"`
	for _, test := range []struct {
		refusal string
		remedy  status.Remedy
		want    string
	}{
		{`deployments.apps "web" is forbidden: User ` + account + ` cannot patch resource "deployments" in API group "apps" in the namespace "shop"`, status.GrantPermission, `forbidden: it cannot patch deployments`},
		{`deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'frozen-while-we-move' with binding 'frozen-while-we-move' denied request: this workload is frozen`, status.ChangePolicy, `policy 'frozen-while-we-move' denies it: this workload is frozen`},
		{`admission webhook "quota.platform-team.example.com" denied the request: too much of it`, status.ChangePolicy, `webhook "quota.platform-team.example.com" denies it: too much of it`},
		{`Internal error occurred: failed calling webhook "guard.platform-team.example.com": failed to call webhook: Post "https://127.0.0.1:1/x?timeout=3s": dial tcp 127.0.0.1:1: connect: connection refused`, status.RepairWebhook, `webhook "guard.platform-team.example.com" cannot be called: dial tcp 127.0.0.1:1: connect: connection refused`},
		{`Internal error occurred: failed calling webhook "guard.example.com": could not get REST client: unable to load root certificates`, status.RepairWebhook, `webhook "guard.example.com" cannot be called: could not get REST client: unable to load root certificates`},
		{`the server was unable to return a response`, "", `patch deployment/shop/web: the server was unable to return a response`},
	} {
		refusal := "patch deployment/shop/web: " + test.refusal
		help := "\nWhat helps deployment/web: " + string(test.remedy) + ".\n"
		led := printed(t, status.Overview{Retrying: list(status.Entry{Workload: "deployment/shop/web", State: status.Retrying, Attempts: 3, Error: refusal, Remedy: test.remedy})}, printers.PrintOptions{})
		if !strings.Contains(led, " 3 failed attempts: "+test.want+"\n") || strings.Contains(led, "What helps") != (test.remedy != "") || test.remedy != "" && !strings.HasSuffix(led, help) {
			t.Errorf("the leader:\n%s", led)
		}
		failed := event(2, "deployment/web", "RestartFailed", test.remedy.After("cannot apply a config change, trying again: "+refusal))
		report := lookAt(&overview.Input{Namespace: "shop", Now: now, Workloads: []facts.Workload{workload("web", "settings", due)}, Events: []facts.Event{failed}})
		var out bytes.Buffer
		if err := report.Print(&out, printers.PrintOptions{}, now); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("the last attempt failed: %s\n", test.want)
		if alone := out.String(); !strings.HasPrefix(alone, "1 workload enabled in shop: 1 not applied.\n") || !strings.Contains(alone, want) || (test.remedy != "") != strings.Contains(alone, help) || strings.Contains(alone, "trying again") {
			t.Errorf("without the leader, which may be gone:\n%s\nwant %s%s", alone, want, help)
		}
	}
}

func TestTheRowOfARefusalSaysFirstWhyItFailed(t *testing.T) {
	out := printed(t, status.Overview{Retrying: list(status.Entry{
		Workload: "deployment/shop/web", State: status.Retrying, Attempts: 7, Error: "forbidden", Reason: "slow-start", On: "configmap/shop/settings",
	})}, printers.PrintOptions{})
	if !strings.Contains(out, " 7 failed attempts: forbidden; slow-start; configmap/shop/settings") {
		t.Error(out)
	}
	out = printed(t, status.Overview{Held: list(status.Entry{
		Workload: "deployment/shop/web", State: status.Held, Reason: "hold", Text: "the workload is held: audit", Attempts: 7, Error: "its record could not be written: forbidden", OnlyRecord: true,
	})}, printers.PrintOptions{})
	if !strings.Contains(out, " the workload is held: audit; its record could not be written: forbidden\n") {
		t.Error(out)
	}
}

func TestARestartThatIsHeldAndRefusedShowsBothUntilTheRefusalIsOver(t *testing.T) {
	held := workload("web", "settings", due, policy(catalogpolicy.WorkloadPolicy{Hold: "audit"}))
	events := []facts.Event{event(2, "deployment/web", "RestartFailed", status.AllowInPolicy.After("cannot write a record, trying again: frozen"))}
	look := func() overview.Row {
		return lookAt(&overview.Input{Namespace: "shop", Now: now, Workloads: []facts.Workload{held}, Events: events}).Workloads[0]
	}
	if row := look(); row.State != overview.Held || !strings.HasSuffix(row.Why, "audit; besides, the last attempt failed: frozen") || row.Remedy != status.AllowInPolicy {
		t.Errorf("%+v", row)
	}
	events = append(events, event(1, "deployment/web", "RestartsResumed", "restart is no longer held by a halt"))
	if row := look(); !strings.HasSuffix(row.Why, "frozen") {
		t.Errorf("when another hold is over: %+v", row)
	}
	held.Record.Contradicted = time.Time{} // as if the mark was refused
	if row := look(); row.State != overview.OnHold || !strings.HasSuffix(row.Why, "audit; besides, the last attempt failed: frozen") || row.Remedy != status.AllowInPolicy {
		t.Errorf("when no restart is known to be due: %+v", row)
	}
	events = append(events, event(0, "deployment/web", "RestartsResumed", "the controller may write to this workload again; its restart waits for its hold"))
	if row := look(); !strings.HasSuffix(row.Why, "audit") || row.Remedy != "" {
		t.Errorf("when it is over: %+v", row)
	}
}
