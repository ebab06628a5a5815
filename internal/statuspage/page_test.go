package statuspage_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
)

const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>{{.}}`

// fill fills an overview with one of everything, with the same text wherever tenants have a say.
func fill(text string) status.Overview {
	since := time.Now().Add(-90 * time.Second)
	entries := func(state status.State, reason string) status.List[status.Entry] {
		return list(status.Entry{Workload: "deployment/a/web" + text, State: state, Reason: reason, On: "configmap/a/c" + text, Text: text, For: text, Beginning: status.Beginning{Since: since}, Until: since, Exposed: true, Pods: &status.Pods{Wanted: 3, Updated: 2, Available: 1}})
	}
	held := entries(status.Held, "hold")
	held.Items = append(held.Items, entries(status.Held, "eviction").Items...)
	return status.Overview{
		Leads: true, AllHeld: text,
		Pending: entries(status.Pending, ""), Waiting: entries(status.Waiting, "slow-start"), Held: held,
		Slowed: entries(status.Slowed, "backoff"), Rolling: entries(status.Rolling, ""), Failed: entries(status.Failed, ""),
		FanOuts:  list(status.FanOut{Config: "configmap/a/c" + text, Beginning: status.Beginning{Since: since}, Total: 8, Delivered: 4, Rolling: 2, Waiting: 2, Unserved: 1}),
		Halts:    list(status.Halt{ID: "id" + text, Config: "configmap/a/c" + text, Keys: []string{text}, Failed: []string{"deployment/a/web" + text}, Held: 3, Since: since, Command: "kubectl logs " + text, Resume: "kubectl " + text}),
		Mistakes: list(status.Mistake{Object: "configmap/a/c" + text, Problem: text}),
		Restarts: list(
			status.Restart{Time: since, Workload: "deployment/a/web" + text, Cause: text, Outcome: status.Broken, Took: 3700, Why: text, Command: "kubectl describe pod " + text},
			status.Restart{Time: since.Add(-48 * time.Hour), Workload: "deployment/a/web" + text, Cause: text},
		),
		Rollouts: &status.Rollouts{Driving: true, Detail: text, Rolling: list(status.Rollout{
			Deployment: "deployment/a/web" + text, Strategy: text, Wanted: 4, New: status.Replicas{Sets: 1, Wanted: 4, Present: 3, Available: 1}, Old: status.Replicas{Sets: 2, Wanted: 2, Present: 2, Available: 2}, Problem: text,
		})},
	}
}

func list[T any](items ...T) status.List[T] {
	return status.List[T]{Total: len(items) + 5, Items: items}
}

func pages(text string) map[string]string {
	c := &cluster{overview: fill(text)}
	source := c.source()
	source.Workload = func(name string) *status.Workload {
		return &status.Workload{
			Entry: fill(text).Waiting.Items[0], EnabledBy: text, Problems: []string{text}, Mistakes: fill(text).Mistakes.Items, ByHand: text, Method: text, Window: text, Wave: 3,
			Holds:    list(status.Hold{On: "configmap/a/c" + text, IsConfig: true, Text: text, Beginning: status.Beginning{Since: time.Now(), AtLeast: true}}),
			Reads:    list(status.Seen{Config: "configmap/a/c" + text, KeyCount: 1, Keys: []string{text}, ReadAs: "files, API", Exists: new(true), Ignored: true}),
			Record:   status.Record{Problem: text, Reverted: true},
			Decision: status.Decision{Outcome: "restart", Reason: text, Causes: text}, Gate: &status.Answer{Reason: "slow-start", On: "configmap/a/c" + text, Why: text},
			Change: &status.Change{Since: time.Now(), Due: time.Now(), For: []string{"configmap/a/c" + text}}, Last: &fill(text).Restarts.Items[0],
		}
	}
	source.Config = func(name string) *status.Config {
		return &status.Config{
			Name: name + text, Exists: new(true), Content: text, KeyCount: 9, Keys: []string{text}, Window: text, Hold: text, Mistake: &fill(text).Mistakes.Items[0], SharedWith: text, Ignored: true, States: map[status.State]int{status.Rolling: 3, status.Held: 900},
			Readers: fill(text).Waiting, FanOuts: fill(text).FanOuts, Halts: fill(text).Halts, Restarts: fill(text).Restarts, MissesRestarts: true,
		}
	}
	handler := newHandler(source)
	bodies := make(map[string]string)
	for _, path := range []string{"/", "/%2F", "/workload/deployment/a/web", "/config/configmap/a/c"} {
		bodies[path] = get(handler, path).Body.String()
	}
	return bodies
}

// elements returns the elements of a page, without texts and values of attributes.
func elements(t *testing.T, page string) (all []string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in %s", err, page)
		}
		if start, is := token.(xml.StartElement); is {
			element := start.Name.Local
			for _, attribute := range start.Attr {
				element += " " + attribute.Name.Local
			}
			all = append(all, element)
		}
	}
}

func TestWhatTenantsWriteIsTextOnEveryPage(t *testing.T) {
	plain := pages("plain")
	for path, page := range pages(hostile) {
		if got, want := elements(t, page), elements(t, plain[path]); !slices.Equal(got, want) {
			t.Errorf("%s has other elements than with a harmless text:\n%v\n%v", path, got, want)
		}
		if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") {
			t.Errorf("%s: %s", path, page)
		}
		if !strings.Contains(page, "&lt;script&gt;") {
			t.Errorf("%s does not show the text", path)
		}
	}
}

// The Content-Security-Policy forbids these.
func TestNoPageHasInlineStylesOrScriptsOrLoadsAnythingFromElsewhere(t *testing.T) {
	for path, page := range pages("plain") {
		for _, element := range elements(t, page) {
			for _, word := range strings.Fields(element)[1:] {
				if word == "style" || strings.HasPrefix(word, "on") {
					t.Errorf("%s: <%s>", path, element)
				}
			}
			if element == "style" || element == "script" {
				t.Errorf("%s: <%s> without a source", path, element)
			}
		}
		for _, address := range regexp.MustCompile(`(?:href|src|action|data-events)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if !strings.HasPrefix(address[1], "/") && !strings.HasPrefix(address[1], "#") || strings.HasPrefix(address[1], "//") {
				t.Errorf("%s: %s", path, address[1])
			}
		}
	}
}

func TestAPageIsFollowedWhateverTheNameOfItsObject(t *testing.T) {
	for _, path := range []string{"/config/configmap/a/b%3Fq=c%23d", "/config/configmap/a/%2541", `/config/configmap/a/b%5C..`, "/config/configmap/a/%E2%80%8B"} {
		page := get(leading().handler(), path).Body.String()
		for _, want := range []string{`data-events="` + path + `/events"`, `href="` + path + `/status.json"`} {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %s", path, want)
			}
		}
	}
}

func TestPagesReloadThemselvesWithoutJavaScript(t *testing.T) {
	for path, page := range pages("plain") {
		if !strings.Contains(page, `<noscript><meta http-equiv="refresh" content="5"></noscript>`) {
			t.Errorf("%s: %s", path, page)
		}
	}
}

func TestTheOverviewHasASectionForEverythingThatIsUnderWay(t *testing.T) {
	page := pages("plain")["/"]
	for _, part := range []string{
		`id="halts"`, `id="fanouts"`, `id="failed"`, `id="held"`, `id="rolling"`, `id="waiting"`, `id="slowed"`, `id="pending"`, `id="rollouts"`, `id="restarts"`,
		`<pre><code>kubectl plain</code></pre>`, "4 of 8", ">plain<", "no pod is evicted: plain", "restarted for plain; the next eviction waits: plain", "restarted for plain: <strong>plain</strong>", "and 5 more", "1 min 30 s ago", "1 h 1 min", `<a href="/config/configmap/a/cplain">`, `<a href="/workload/deployment/a/webplain">`,
		`<rect class="delivered" x="0" width="50" height="10"></rect><rect class="rolling" x="50" width="25" height="10"></rect></svg>`,
		`<rect class="delivered" x="0" width="25" height="10"></rect><rect class="rolling" x="25" width="50" height="10"></rect>`, // the new pods, of 4
	} {
		if !strings.Contains(page, part) {
			t.Errorf("it lacks %s:\n%s", part, page)
		}
	}
	empty := get((&cluster{overview: status.Overview{Leads: true}}).handler(), "/").Body.String()
	for _, id := range []string{"halts", "fanouts", "failed", "held", "rollouts"} {
		if strings.Contains(empty, fmt.Sprintf("id=%q", id)) {
			t.Errorf("an empty overview has a section %s", id)
		}
	}
	one := status.Overview{Leads: true, Halts: status.List[status.Halt]{Total: 1}, FanOuts: status.List[status.FanOut]{Total: 2}}
	if page := get((&cluster{overview: one}).handler(), "/").Body.String(); !strings.Contains(page, "<b>1</b> halt<") || !strings.Contains(page, "<b>2</b> fan-outs<") {
		t.Errorf("one halt and two fan-outs are %s", page)
	}
	const isIdle = "Nothing waits or rolls."
	if !strings.Contains(empty, isIdle) || strings.Contains(page, isIdle) || strings.Contains(empty, `href="#`) || !strings.Contains(page, `href="#halts"`) {
		t.Errorf("an empty overview says %s", empty)
	}
}

func TestAHaltOfNoSingleConfigIsShownAsText(t *testing.T) {
	entry := status.Entry{Workload: "deployment/a/web", State: status.Held, Reason: "halt", Text: "too many configs", Beginning: status.Beginning{Since: time.Now()}}
	overview := status.Overview{Leads: true, Held: status.List[status.Entry]{Total: 1, Items: []status.Entry{entry}}}
	page := get((&cluster{overview: overview}).handler(), "/").Body.String()
	if !strings.Contains(page, "too many configs") || strings.Contains(page, "/config/") {
		t.Errorf("the page is %s", page)
	}
}

func TestAHaltSaysHowManyOthersWait(t *testing.T) {
	for held, want := range map[int]string{0: " ago. Revert", 1: " ago, so 1 other waits. Revert", 2: " ago, so 2 others wait. Revert"} {
		halt := status.Halt{Config: "configmap/a/c", Failed: []string{"deployment/a/web"}, Held: held, Since: time.Now().Add(-time.Minute)}
		overview := status.Overview{Leads: true, Halts: status.List[status.Halt]{Total: 1, Items: []status.Halt{halt}}}
		if page := get((&cluster{overview: overview}).handler(), "/").Body.String(); !strings.Contains(page, want) {
			t.Errorf("with %d, it lacks %q:\n%s", held, want, page)
		}
	}
}

func TestTheReadersOfAConfigAreAPictureOfAtMostSomeHundredSquares(t *testing.T) {
	page := pages("plain")["/config/configmap/a/c"]
	held, rolling := strings.Count(page, `<rect class="held" x`), strings.Count(page, `<rect class="rolling" x`)-1 // without the bar
	if held != 300 || rolling < 1 || !strings.Contains(page, "Each square stands for 3 workloads") || !strings.Contains(page, `aria-label="3 rolling, 900 held"`) {
		t.Errorf("%d and %d squares: %s", held, rolling, page)
	}
}

func TestTheDetailsOfWorkloadsAndConfigsAreShown(t *testing.T) {
	all := pages("plain")
	for path, parts := range map[string][]string{
		"/workload/deployment/a/web": {
			"<dt>Enabled</dt><dd>by plain</dd>", "<dt>Method</dt><dd>plain</dd>", `<td data-label="Read as">files, API</td>`, `<td data-label="Exists">yes, ignored</td>`,
		},
		"/config/configmap/a/c": {"Its changes restart nobody: it is ignored.", "; restarts that ended under a former leader are not known; one for more than 10 configs is listed for the first 10 only</p>", `<rect class="failed" x="`, `and 5 more: see the <a href="#readers">`},
	} {
		for _, part := range parts {
			if !strings.Contains(all[path], part) {
				t.Errorf("%s lacks %s:\n%s", path, part, all[path])
			}
		}
	}
}

func TestAConfigThatTheControllerCannotSeeIsNotSaidToBeGone(t *testing.T) {
	const gone, keys = "It does not exist, or is gone.", "<dt>Keys</dt>"
	for name, test := range map[string]struct {
		exists                *bool
		page, inTable, unlike string
	}{
		"one that is there":     {new(true), keys, "yes", gone},
		"one that is gone":      {new(false), gone, "no", keys},
		"one that is not known": {nil, "It is not known whether it exists: the controller cannot see all of its kind.", "not known", gone},
	} {
		source := leading().source()
		source.Config = func(name string) *status.Config { return &status.Config{Name: name, Exists: test.exists} }
		source.Workload = func(name string) *status.Workload {
			seen := status.Seen{Config: "secret/a/s", Exists: test.exists}
			return &status.Workload{Entry: status.Entry{Workload: name}, Reads: status.List[status.Seen]{Total: 1, Items: []status.Seen{seen}}}
		}
		handler := newHandler(source)
		page := get(handler, "/config/secret/a/s").Body.String()
		if !strings.Contains(page, test.page) || strings.Contains(page, test.unlike) {
			t.Errorf("the page of %s is %s", name, page)
		}
		if page := get(handler, "/workload/deployment/a/web").Body.String(); !strings.Contains(page, `<td data-label="Exists">`+test.inTable+`</td>`) {
			t.Errorf("the page of a workload that reads %s is %s", name, page)
		}
		for _, path := range []string{"/config/secret/a/s", "/workload/deployment/a/web"} {
			if answer := get(handler, path+"/status.json").Body.String(); strings.Contains(answer, `"exists"`) != (test.exists != nil) {
				t.Errorf("%s of %s: %s", path, name, answer)
			}
		}
	}
}

func TestTheReadersOfASharedConfigElsewhereAreNotListed(t *testing.T) {
	const note = "It is shared with other namespaces. Their workloads are not listed here."
	for shared, want := range map[string]string{"": "No enabled workload reads it.", "team-?": "No enabled workload of its namespace reads it."} {
		source := leading().source()
		source.Config = func(name string) *status.Config { return &status.Config{Name: name, SharedWith: shared} }
		page := get(newHandler(source), "/config/configmap/a/c").Body.String()
		if !strings.Contains(page, want) || strings.Contains(page, note) != (shared != "") || strings.Contains(page, "<dt>Shared with</dt><dd><code>team-?</code></dd>") != (shared != "") {
			t.Errorf("shared with %q, it says %s", shared, page)
		}
	}
}

func TestTheKindsThatTheControllerWasAskedForAreNamed(t *testing.T) {
	overview := status.Overview{Leads: true, Kinds: []status.Kind{
		{Workload: "rollouts.v1alpha1.argoproj.io", Missing: true}, {Workload: "gadgets.v1.example.com=.spec.<b>", Unusable: 2}, {Workload: "a.v1.b"},
	}}
	page := get((&cluster{overview: overview}).handler(), "/").Body.String()
	for _, part := range []string{
		"<code>rollouts.v1alpha1.argoproj.io</code>, which is not installed</p>",
		"<code>gadgets.v1.example.com=.spec.&lt;b&gt;</code>; 2 enabled but cannot be restarted, see their Events</p>", "<code>a.v1.b</code></p>",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("it lacks %s:\n%s", part, page)
		}
	}
}

func TestAHaltAndAFailedRestartNameTheCommandThatShowsWhy(t *testing.T) {
	all := pages("plain")
	for path, want := range map[string]string{"/": "kubectl logs plain", "/workload/deployment/a/web": "kubectl describe pod plain"} {
		if !strings.Contains(all[path], "<pre><code>"+want+"</code></pre>") {
			t.Errorf("%s lacks %s: %s", path, want, all[path])
		}
	}
}

func TestAPageOfARefusedRestartSaysSoBesideTheGate(t *testing.T) {
	source := leading().source()
	entry := status.Entry{Workload: "deployment/a/web", State: status.Retrying, Error: "patch is forbidden", Remedy: status.ChangePolicy, Attempts: 4, Until: time.Now().Add(time.Hour)}
	source.Workload = func(string) *status.Workload {
		return &status.Workload{Entry: entry, Gate: &status.Answer{MayBegin: true}}
	}
	body := get(newHandler(source), "/workload/deployment/a/web").Body.String()
	for _, want := range []string{"the restart may begin, but its last attempt failed: see its state", "patch is forbidden", "failed attempts: 4", ", next attempt at "} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not in\n%s", want, body)
		}
	}
	entry = status.Entry{Workload: "deployment/a/web", State: status.Deciding}
	if body := get(newHandler(source), "/workload/deployment/a/web").Body.String(); !strings.Contains(body, "<dd>nothing, once the controller can decide</dd>") || strings.Contains(body, "next attempt") {
		t.Errorf("without a failure:\n%s", body)
	}
}
