package leader_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/internal/statuspage"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/leader"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// newStandby serves the page of a replica that stands by, and returns its URL.
func newStandby(t *testing.T, known status.Knowledge) string {
	page := httptest.NewServer(statuspage.New(statuspage.Source{
		Leads:     func() bool { return false },
		Knowledge: func(string) status.Knowledge { return known },
		Overview:  func(namespace string) *status.Overview { return &status.Overview{Namespace: namespace} },
	}, slog.New(slog.DiscardHandler)))
	t.Cleanup(page.Close)
	return page.URL
}

func TestWhoeverCannotAskTheLeaderIsToldWhetherAnybodyLeads(t *testing.T) {
	const (
		nobody = "Probably no replica of the controller leads, so nothing restarts: pod leader-2 has not renewed its lease of 15 s since 11:59:39: "
		leads  = "The leader cannot be asked, so this is only what the cluster shows: by its lease of 15 s, pod leader-2 leads since 11:00:00: "
		gone   = "there is no pod leader-2 in namespace ctl: it is gone, or it runs outside of the cluster, which --status-url is for"
		look   = " Look at the controller's pods and their logs: kubectl get pods -n ctl, kubectl logs -n ctl POD, with --previous if it has ended."
	)
	refused := newStandby(t, status.Knowledge{Lease: &status.Lease{}, Gaps: []status.Gap{{Text: "This replica cannot read the lease", Why: "forbidden", Remedy: "Grant it."}}})
	informed := newStandby(t, status.Knowledge{Lease: &status.Lease{Holder: "leader-2", Since: noon.Add(-time.Hour), Renewed: noon, Seconds: 15}})
	noLease := refusing(leasePath, http.StatusNotFound, "NotFound")
	for name, test := range map[string]struct {
		ago    time.Duration
		url    string
		refuse func(http.ResponseWriter, *http.Request) bool
		want   []string
	}{
		"the lease has just been renewed": {time.Second, "", nil, []string{leads + gone}},
		"it has run out":                  {21 * time.Second, "", nil, []string{nobody + gone + look}},
		"a URL that nobody serves":        {21 * time.Second, "http://127.0.0.1:1", nil, []string{nobody + "http://127.0.0.1:1 cannot be asked: refused" + look}},
		"a standby, and nobody leads": {21 * time.Second, refused, nil, []string{
			nobody + "URL stands by, so it does not know what is under way" + look, "URL says: This replica cannot read the lease: forbidden Grant it.",
		}},
		"a standby, without the lease": {time.Second, informed, noLease, []string{leads + "URL stands by, so it does not know what is under way"}},
		"a standby that does not know, without the lease": {time.Second, refused, noLease, []string{
			"The leader cannot be asked, so this is only what the cluster shows: URL stands by, so it does not know what is under way; nor is it known whether anybody leads: " +
				"there is no lease ctl/election; say where the controller runs with --controller-namespace and --lease, or with --status-url",
			"URL says: This replica cannot read the lease: forbidden Grant it.",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t, nil)
			s.holder, s.renewed, s.refuse = "leader-2_1", noon.Add(-test.ago), test.refuse
			asked := leader.New(s.config, leader.Place{Namespace: "ctl", Lease: "election", Port: 10255, URL: test.url})
			_, _, err := asked.Workload(t.Context(), web)
			if test.url == "http://127.0.0.1:1" {
				err = errors.New(test.url + " cannot be asked: refused")
			}
			requireGaps(t, asked.Gaps(t.Context(), err, noon), test.url, test.want)
		})
	}
}

func requireGaps(t *testing.T, gaps []status.Gap, url string, want []string) {
	t.Helper()
	for i := range gaps {
		gap := &gaps[i]
		said := gap.Text
		if !gap.Since.IsZero() {
			said += " since " + gap.Since.UTC().Format(time.TimeOnly)
		}
		said += ": " + gap.Why
		if gap.Remedy != "" {
			said += " " + gap.Remedy
		}
		if url != "" {
			said = strings.ReplaceAll(said, url, "URL")
		}
		if len(gaps) != len(want) || said != strings.ReplaceAll(want[i], "http://127.0.0.1:1", "URL") {
			t.Errorf("gap %d of %d is\n%s\nwant\n%s", i, len(gaps), said, want)
		}
	}
}
