package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// statusPage serves a status page that answers the same each time, but for the time.
func statusPage(t *testing.T) (address string) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().Format(time.RFC3339Nano)
		switch r.URL.Path {
		case "/workload/deployment/shop/web/status.json":
			fmt.Fprintf(w, `{"time":%q,"workload":"deployment/shop/web","state":"held","decision":{"outcome":"restart","reason":"the content differs","causes":"secret db changed"},"gate":{"reason":"hold","why":"migration\u001b[2J"}}`, now)
		case "/namespace/shop/status.json":
			fmt.Fprintf(w, `{"time":%q,"leads":true,"namespace":"shop","held":{"total":1,"items":[{"workload":"deployment/shop/web","state":"held","text":"\u001b[2J"}]}}`, now)
		case "/status.json":
			_, _ = io.WriteString(w, `{"leads":true,"rolling":{"total":1,"items":[{"workload":"deployment/office/web","state":"rolling"}]}}`)
		case "/workload/deployment/shop/mistyped/status.json":
			http.Error(w, `{"error":"no","mistake":{"problem":"annotation com.xing.deployment-restrat looks like a misspelling of com.xing.deployment-restart, so it enables nothing","since":"2026-11-20T11:00:00Z"}}`, http.StatusNotFound)
		default:
			http.Error(w, `{"error":"The controller knows no enabled workload of this name."}`, http.StatusNotFound)
		}
	}))
	t.Cleanup(page.Close)
	return page.URL
}

func TestTheLeaderIsAskedUnlessItCannotBe(t *testing.T) {
	s := newServer(t)
	s.objects["/api/v1/namespaces/shop/configmaps"] = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"metadata":{"namespace":"shop","name":"settings"}}]}`
	s.objects[webPath], s.objects[settingPath], s.objects[listPath] = deployment(enabled), settings, deployments(enabled)
	s.objects["/apis/apps/v1/deployments"] = deployments(enabled)
	s.objects[listPath+"/other"] = strings.Replace(deployment(enabled), `"name":"web"`, `"name":"other"`, 1)
	s.objects[listPath+"/mistyped"] = strings.Replace(deployment(`{"com.xing.deployment-restrat":"enabled"}`), `"name":"web"`, `"name":"mistyped"`, 1)
	url := "--status-url=" + statusPage(t)
	for _, test := range []struct {
		arguments []string
		says, gap string
	}{
		{[]string{"explain", "deploy/web", url}, "deployment/web in shop has not restarted yet although secret db changed: migration\\u001b[2J.\n", ""},
		{[]string{"explain", "deploy/other", url}, "deployment/other in shop seems to be enabled, by its annotation com.xing.deployment-restart, but the leader knows no enabled workload of this name, so no edit restarts it: ", ""},
		{[]string{"explain", "deploy/mistyped", url}, "deployment/mistyped in shop is not enabled, so no edit restarts it: annotation com.xing.deployment-restrat looks like a misspelling of com.xing.deployment-restart, so it enables nothing.\n", ""},
		{[]string{"explain", "deploy/mistyped", url}, "Problems:     annotation com.xing.deployment-restrat looks like a misspelling of com.xing.deployment-restart, so it enables nothing (since 2026-11-20T11:00:00Z)\n", ""},
		{[]string{"explain", "deploy/mistyped", url}, ") knows no enabled workload of this name.\n", ""},
		{[]string{"explain", "deploy/web"}, "Only the leader of the controller knows", "there is no lease deployment-restart-controller/kubernetes-deployment-restart-controller; say where the controller runs"},
		{[]string{"explain", "deploy/web", "--lease=mine", "--controller-namespace=ours"}, "Only the leader", "there is no lease ours/mine; "},
		{[]string{"explain", "deploy/web", "--leader=false", url}, "Only the leader of the controller knows", ""},
		{[]string{"status", url}, "1 workload enabled in shop. The leader (http://127.0.0.1:", ""},
		{[]string{"status", url}, "deployment/web   held                    \\u001b[2J", ""},
		{[]string{"status", url, "-A"}, "office      deployment/web   rolling", ""},
		{[]string{"status"}, "Only the leader of the controller knows", "there is no lease"},
		{[]string{"status", "--leader=false", url}, "1 workload enabled in shop: 1 unknown.", ""},
		{[]string{"status", "--status-url=nowhere"}, "Only the leader of the controller knows", "--status-url must be a URL"},
	} {
		code, stdout, stderr := s.run(t.Context(), test.arguments...)
		if code != 0 || !strings.Contains(stdout, test.says) || !strings.Contains(stdout, test.gap) || (test.gap != "") != strings.HasPrefix(stdout, "What is not known, or does not work:\n  The leader cannot be asked") || stderr != "" {
			t.Errorf("%v: %d, %s%s, want %q and %q", test.arguments, code, stdout, stderr, test.says, test.gap)
		}
		if strings.Contains(stdout+stderr, "\x1b") {
			t.Errorf("%v: %q%q", test.arguments, stdout, stderr)
		}
	}
}

func TestWhatTheLeaderSaysIsForProgramsToo(t *testing.T) {
	s := newServer(t)
	s.objects[webPath], s.objects[settingPath], s.objects[listPath] = deployment(enabled), settings, deployments(enabled)
	url := "--status-url=" + statusPage(t)
	for _, arguments := range [][]string{{"explain", "deploy/web", url, "-o", "json"}, {"status", url, "-o", "json"}} {
		code, stdout, stderr := s.run(t.Context(), arguments...)
		var report struct {
			Leader struct {
				Name     string
				Decision struct{ Outcome string }
				Held     struct{ Total int }
			}
		}
		if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 0 || report.Leader.Name == "" || report.Leader.Decision.Outcome == "" && report.Leader.Held.Total != 1 {
			t.Errorf("%v: %d, %s%s, %v", arguments, code, stdout, stderr, err)
		}
	}
}

// The time of each answer is no change.
func TestTheStatusOfALeaderIsPrintedOnceIfNothingChanges(t *testing.T) {
	s := newServer(t)
	s.objects[listPath] = deployments(enabled)
	for _, format := range []string{"--output=json", "--output="} {
		ctx, cancel := context.WithCancel(t.Context())
		s.served, s.onList = 0, func(served int) {
			if served == 3 {
				cancel()
			}
		}
		code, stdout, stderr := s.run(ctx, "status", "--watch", "--interval=1s", format, "--status-url="+statusPage(t))
		if code != 0 || strings.Count(stdout, "enabled in shop") != 1 {
			t.Errorf("%s: %d\n%s%s", format, code, stdout, stderr)
		}
	}
}

func TestTheStatusLeavesOutKindsOfTheLeaderThatTheCallerMayNotList(t *testing.T) {
	s := newServer(t)
	s.objects[listPath], s.denied = deployments(enabled), "/apis/shop.example.com/v1/namespaces/shop/gadgets"
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"leads":true,"namespace":"shop","kinds":[{"workload":"gadgets.v1.shop.example.com"}]}`)
	}))
	t.Cleanup(page.Close)
	code, stdout, stderr := s.run(t.Context(), "status", "--status-url="+page.URL)
	if code != 0 || !strings.Contains(stdout, "1 workload enabled in shop.") || !strings.Contains(stderr, "is left out: gadgets.shop.example.com: list gadgets: not allowed") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr := s.run(t.Context(), "status", "--workload=gadgets.v1.shop.example.com"); code != 1 || !strings.Contains(stderr, "you need permission to list workloads") {
		t.Errorf("a kind that the caller names: %d, %s", code, stderr)
	}
}

// What these commands promise happens only if somebody leads.
func TestEachCommandThatPromisesRestartsSaysFirstThatNobodyLeads(t *testing.T) {
	const leasePath = "/apis/coordination.k8s.io/v1/namespaces/deployment-restart-controller/leases/kubernetes-deployment-restart-controller"
	leaseOf := func(holder string, renewed time.Time) string {
		return fmt.Sprintf(`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l"},"spec":{"holderIdentity":%q,"leaseDurationSeconds":15,"renewTime":%q}}`, holder, renewed.UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	const ended, nobody = "note: Probably no replica of the controller leads, so nothing restarts: pod ctl-1 has not renewed its lease of 15 s since 20", "note: No replica of the controller leads, so nothing restarts since 20"
	s := newServer(t)
	s.objects[webPath], s.objects[listPath] = deployment(held), deployments(held)
	s.objects[settingPath] = heldSettings(`"annotations":{"com.xing.deployment-restart.hold":"approval"},`)
	for _, arguments := range [][]string{
		{"impact", "cm/settings"}, {"impact", "-f", manifest(t, "LEVEL: debug"), "-o", "json"},
		{"hold", "deploy/web", "why", "--overwrite"}, {"unhold", "cm/settings"}, {"resume", "cm/settings", "k3v7x2ab"}, {"urgent", "cm/settings"},
	} {
		for name, test := range map[string]struct {
			lease, says string
			also        string
		}{
			"it has run out":  {leaseOf("ctl-1_f3b1", time.Now().Add(-8*time.Minute)), ended, ""},
			"it was given up": {leaseOf("", time.Now().Add(-8*time.Minute)), nobody, ""},
			"it is held":      {leaseOf("ctl-1_f3b1", time.Now()), "", ""},
			"nobody is asked": {leaseOf("", time.Now().Add(-8*time.Minute)), "", "--leader=false"},
			"there is none":   {"", "", ""},
		} {
			if s.objects[leasePath] = test.lease; test.lease == "" {
				delete(s.objects, leasePath)
			}
			all := arguments
			if test.also != "" {
				all = append(slices.Clone(arguments), test.also)
			}
			code, stdout, stderr := s.run(t.Context(), all...)
			said := stderr
			if i := strings.Index(stdout, `"notes": [`); i >= 0 { // where programs find it
				said = "note: " + strings.TrimLeft(strings.TrimPrefix(stdout[i:], `"notes": [`), " \n\"")
			}
			isSaid := strings.Contains(said, "leads, so nothing restarts")
			if code != 0 || isSaid != (test.says != "") || isSaid && (!strings.HasPrefix(said, test.says) || !strings.Contains(said, "Look at the controller's pods")) {
				t.Errorf("%v, %s: %d, %s%s, want %q first", all, name, code, stdout, stderr, test.says)
			}
		}
	}
}
