package statuspage

import (
	"encoding/xml"
	"net/url"
	"strings"
	"testing"
	"time"

	g "maragu.dev/gomponents"

	"kubernetes-deployment-restart-controller/internal/status"
)

func TestAPageSaysWhatMayHaveBegunEarlier(t *testing.T) {
	since := time.Now().Add(-time.Minute)
	for name, part := range map[string]g.Node{
		"entries": entries([]status.Entry{{Beginning: status.Beginning{Since: since, AtLeast: true}}}),
		"fanouts": fanOuts(status.List[status.FanOut]{Items: []status.FanOut{{Beginning: status.Beginning{Since: since, AtLeast: true}}}}),
		"gaps":    gaps([]status.Gap{{Beginning: status.Beginning{Since: since, AtLeast: true}}}),
	} {
		var page strings.Builder
		if err := part.Render(&page); err != nil || !strings.Contains(page.String(), "at least since ") {
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
		if err := wait(&e).Render(&row); err != nil || row.String() != want {
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
	if err := h.writePage(&page, "/", view{data: o}); err != nil || !strings.Contains(page.String(), why) || !strings.Contains(page.String(), `<b>1</b> left alone`) || strings.Contains(page.String(), "Nothing waits") {
		t.Errorf("the overview: %v\n%s", err, &page)
	}
	page.Reset()
	if err := h.writePage(&page, "/", view{data: &status.Workload{Entry: alone}}); err != nil || !strings.Contains(page.String(), why) || strings.Contains(page.String(), "No ConfigMap or Secret") || strings.Contains(page.String(), "not trusted") {
		t.Errorf("its page: %v\n%s", err, &page)
	}
}

func TestALinkLeadsToTheObjectWhateverItsName(t *testing.T) {
	for _, name := range []string{"configmap/a/c", "configmap/a/b?q=c#d", "configmap/a/%41 100%", `configmap/a/"'<>`, "/evil.example", "javascript:alert(1)"} {
		for path, link := range map[string]g.Node{"/config/" + name: configLink(name), "/workload/" + name: workloadLink(name), "/namespace/" + name + "/b": link("/namespace/"+name+"/b", name)} {
			var element strings.Builder
			var a struct {
				Href string `xml:"href,attr"`
				Text string `xml:",chardata"`
			}
			if err := link.Render(&element); err != nil {
				t.Fatal(err)
			}
			if err := xml.Unmarshal([]byte(element.String()), &a); err != nil || a.Text != name {
				t.Errorf("%v, %s", err, &element)
			}
			if to, err := url.Parse(a.Href); err != nil || *to != (url.URL{Path: path, RawPath: to.RawPath}) || a.Href[0] != '/' {
				t.Errorf("%v, %s leads to %+v", err, &element, to)
			}
		}
	}
}
