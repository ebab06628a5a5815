package statuspage

import (
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
)

func TestAPageSaysWhatMayHaveBegunEarlier(t *testing.T) {
	since := time.Now().Add(-time.Minute)
	for name, data := range map[string]any{
		"entries": status.List[status.Entry]{Items: []status.Entry{{Beginning: status.Beginning{Since: since, AtLeast: true}}}},
		"fanouts": status.List[status.FanOut]{Items: []status.FanOut{{Beginning: status.Beginning{Since: since, AtLeast: true}}}},
		"gaps":    []status.Gap{{Beginning: status.Beginning{Since: since, AtLeast: true}}},
	} {
		var page strings.Builder
		if err := templates.ExecuteTemplate(&page, name, data); err != nil || !strings.Contains(page.String(), "at least since ") {
			t.Errorf("%s: %v\n%s", name, err, &page)
		}
	}
}

func TestTheRowOfARefusalSaysWhatTheNextAttemptWaitsFor(t *testing.T) {
	refused := status.Entry{State: status.Retrying, Error: "forbidden", Attempts: 7}
	waits, unknown, held := refused, refused, refused
	waits.Reason, waits.On = "slow-start", "configmap/a/c"
	unknown.Text = "the halts are not known"
	held.State, held.Reason, held.Text, held.Error, held.OnlyRecord = status.Held, "hold", "an incident", "its record could not be written: forbidden", true
	inherited := refused
	inherited.AtLeast = true
	lacking := status.Entry{State: status.Lacking, Text: "configmap/c does not exist", Remedy: status.CreateConfig}
	for want, e := range map[string]status.Entry{
		"<strong>configmap/c does not exist</strong>: without it, pods that run go on, but no new one can start; " + string(status.CreateConfig): lacking,
		"<strong>forbidden</strong>; failed attempts: 7":          refused,
		"<strong>forbidden</strong>; failed attempts: at least 7": inherited,
		`<strong>forbidden</strong>; failed attempts: 7; the next one waits: the slow start of <a href="/config/configmap/a/c">configmap/a/c</a>`: waits,
		"<strong>forbidden</strong>; failed attempts: 7; the next one waits: the halts are not known":                                             unknown,
		"an incident; its record could not be written: forbidden":                                                                                 held,
	} {
		var row strings.Builder
		if err := templates.ExecuteTemplate(&row, "wait", e); err != nil || row.String() != want {
			t.Errorf("%v: %s, want %s", err, &row, want)
		}
	}
}

func TestThePageOfAWorkloadThatIsLeftAloneSaysWhyAndNothingThatIsNotKnown(t *testing.T) {
	alone := status.Entry{Workload: "deployment/a/web", State: status.LeftAlone, Text: "it has no pod template"}
	const why = "no config change restarts it: <strong>it has no pod template</strong>"
	h := &handler{source: Source{Leads: func() bool { return true }}}
	var page strings.Builder
	o := &status.Overview{Leads: true, LeftAlone: status.List[status.Entry]{Total: 1, Items: []status.Entry{alone}}}
	if err := h.writePage(&page, "/", view{template: "overview", data: o}); err != nil || !strings.Contains(page.String(), why) || !strings.Contains(page.String(), `<b>1</b> left alone`) || strings.Contains(page.String(), "Nothing waits") {
		t.Errorf("the overview: %v\n%s", err, &page)
	}
	page.Reset()
	if err := h.writePage(&page, "/", view{template: "workload", data: &status.Workload{Entry: alone}}); err != nil || !strings.Contains(page.String(), why) || strings.Contains(page.String(), "No ConfigMap or Secret") || strings.Contains(page.String(), "not trusted") {
		t.Errorf("its page: %v\n%s", err, &page)
	}
}
