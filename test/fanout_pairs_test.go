package test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/test/faultproxy"
	"kubernetes-deployment-restart-controller/test/harness"
)

// The pairs of events that the controller's own tests play in a simulated cluster, on a real one: two things happen at some stage of
// a restart that brings a bad content, and no content breaks more than one workload.

// playedPairs is how many pairs are drawn. Each takes most of a minute.
var playedPairs = flag.Int("pairs", 2, "how many pairs of events to play at once with a bad content")

// pairScene has three readers of the settings.
type pairScene struct {
	*readers
	proxy  *faultproxy.Proxy
	mu     sync.Mutex
	value  string                     // of the settings
	seen   map[types.UID]bool         // pods that crashed
	broken map[string]map[string]bool // who crashed with a content
	spared map[string]string          // the restarts of workloads whose pods an event has replaced
}

func newPairScene(t *testing.T) *pairScene {
	s := newSceneApart(t)
	p := &pairScene{value: "v1", seen: make(map[types.UID]bool), broken: make(map[string]map[string]bool), spared: make(map[string]string)}
	p.proxy = s.startProxyWith(faultproxy.Options{Timeout: 5 * time.Second, Spare: func(r *http.Request) bool {
		return r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/deployments/")
	}})
	p.readers = s.runReaders(3)
	s.crashAtStart(func(pod *corev1.Pod) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !strings.HasPrefix(p.value, "bad") {
			return false
		}
		app := pod.Labels["app"]
		if at, isSpared := p.spared[app]; !p.seen[pod.UID] && !(isSpared && at == pod.Annotations[timestampAnnotation]) {
			if p.broken[p.value] == nil {
				p.broken[p.value] = make(map[string]bool)
			}
			p.broken[p.value][app] = true
		}
		p.seen[pod.UID] = true
		return true
	})
	return p
}

// bring edits the settings.
func (p *pairScene) bring(value string) {
	p.Helper()
	p.mu.Lock()
	p.value = value
	p.mu.Unlock()
	p.edit(settings, set("used", value))
}

// canary returns the reader that is broken, or has restarted, or comes first.
func (p *pairScene) canary() workload {
	p.Helper()
	p.mu.Lock()
	for _, content := range slices.Sorted(maps.Keys(p.broken)) {
		for app := range p.broken[content] {
			p.mu.Unlock()
			return deployment(app)
		}
	}
	p.mu.Unlock()
	if restarted, err := p.restarted(p.Context()); err == nil && len(restarted) > 0 {
		return restarted[0]
	}
	return p.all[0]
}

// spare notes that the pods of a workload are replaced by somebody else, also if the restart of its template stays.
func (p *pairScene) spare(w workload, restart string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spared[w.name] = restart
}

// requireOne fails the test if a content has broken more than one workload.
func (p *pairScene) requireOne(stays time.Duration) {
	p.Helper()
	for until := time.Now().Add(stays); ; time.Sleep(time.Second) {
		p.mu.Lock()
		for content, apps := range p.broken {
			if len(apps) > 1 {
				p.Errorf("%q has broken %v", content, apps)
			}
		}
		p.mu.Unlock()
		if p.Failed() || time.Now().After(until) {
			return
		}
	}
}

// ifThere does something to the settings, unless they are deleted.
func (p *pairScene) ifThere(do func()) {
	p.Helper()
	if _, err := p.client.CoreV1().ConfigMaps(p.namespace).Get(p.Context(), settings.name, metav1.GetOptions{}); err == nil {
		do()
	}
}

var haltID = regexp.MustCompile(`"id":"(\w+)"`)

// resume ends a halt of the settings, if there is one.
func (p *pairScene) resume() {
	p.Helper()
	halts, err := p.client.CoreV1().ConfigMaps(p.installation.Namespace).Get(p.Context(), haltsConfigMap, metav1.GetOptions{})
	if err != nil {
		return // nothing was ever halted
	}
	for _, id := range haltID.FindAllStringSubmatch(halts.Data[p.haltEntry(settings)], -1) {
		p.ifThere(func() { p.annotateConfig(settings, resumeAnnotation, id[1]) })
	}
}

// awaitGood waits until all containers have started since the content is good. Those that crashed are started again, as a kubelet does
// after a while. After a release, nothing else ends the halt of what may be at fault, too, so a person resumes it.
func (p *pairScene) awaitGood(since time.Time) {
	p.Helper()
	for until := time.Now().Add(waitLimit); ; time.Sleep(time.Second) {
		missing := p.missing(since)
		switch {
		case missing == "":
			return
		case time.Now().After(until):
			p.Fatalf("waited for the good content for %s: %s", waitLimit, missing)
		}
		p.resume()
	}
}

// missing says which workload does not run as [pairScene.awaitGood] requires, empty if all do.
func (p *pairScene) missing(since time.Time) string {
	p.Helper()
	for _, w := range p.all {
		pods, err := p.podsOf(p.Context(), w)
		p.must(err)
		for i := range pods {
			if !p.startsAgain(&pods[i]) && pods[i].CreationTimestamp.Time.Before(since) {
				return w.name + " has a pod from before"
			}
		}
		if now := p.now(w); now.rollout != nil {
			return fmt.Sprintf("%s: %v", w.name, now.rollout)
		}
	}
	return ""
}

// startsAgain starts the container of a pod that crashed, and reports whether that was done.
func (p *pairScene) startsAgain(pod *corev1.Pod) bool {
	p.Helper()
	p.mu.Lock()
	hasCrashed := p.seen[pod.UID]
	p.mu.Unlock()
	if hasCrashed && !harness.IsReady(pod) {
		p.patchPodStatus(pod, fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"ContainersReady","status":"True"}],"containerStatuses":[`+
			`{"name":"main","image":"example/app","imageID":"","ready":true,"restartCount":1,"state":{"waiting":null,"running":{"startedAt":%q}}}]}}`, time.Now().UTC().Format(time.RFC3339)))
	}
	return hasCrashed
}

// playedEvent is something that happens, and how it is taken back.
type playedEvent struct {
	name  string
	do    func(p *pairScene, canary workload)
	undo  func(p *pairScene, canary workload)
	frees bool // a person lets the content spread
}

func playedEvents() []playedEvent {
	annotate := func(annotation, value string) func(*pairScene, workload) {
		return func(p *pairScene, canary workload) {
			p.patch(canary, fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, annotation, value))
		}
	}
	annotated := func(name, annotation, value string) playedEvent {
		return playedEvent{name: name, do: annotate(annotation, fmt.Sprintf("%q", value)), undo: annotate(annotation, "null")}
	}
	scale := func(p *pairScene, canary workload, replicas int) {
		p.spare(canary, p.now(canary).restartedAt())
		p.patch(canary, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	}
	retemplate := func(p *pairScene, canary workload, template string) {
		p.spare(canary, p.now(canary).restartedAt())
		p.patch(canary, `{"spec":{"template":`+template+`}}`)
	}
	return []playedEvent{
		{name: "another key is edited", do: func(p *pairScene, _ workload) { p.ifThere(func() { p.edit(settings, set("other", "v2")) }) }},
		{name: "it is edited badly again", do: func(p *pairScene, _ workload) { p.ifThere(func() { p.bring("bad too") }) }},
		{name: "it is reverted", do: func(p *pairScene, _ workload) { p.ifThere(func() { p.bring("v1") }) }},
		{name: "a person resumes it", frees: true, do: func(p *pairScene, _ workload) { p.resume() }},
		annotated("it is held", holdAnnotation, "an incident"),
		annotated("its window is closed", windowAnnotation, "0 0 1 1 * 1m"),
		annotated("it comes in a later wave", waveAnnotation, "1"),
		{name: "it is opted out", do: annotate(enabledAnnotation, "null"), undo: annotate(enabledAnnotation, `"enabled"`)},
		{name: "it is scaled to 0", do: func(p *pairScene, canary workload) { scale(p, canary, 0) }, undo: func(p *pairScene, canary workload) { scale(p, canary, 1) }},
		{name: "it is released", do: func(p *pairScene, canary workload) {
			retemplate(p, canary, fmt.Sprintf(`{"metadata":{"labels":{"release":"r%d"}}}`, time.Now().UnixNano()))
		}},
		{name: "it is restarted by hand", do: func(p *pairScene, canary workload) {
			retemplate(p, canary, fmt.Sprintf(`{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}`, time.Now().Format(time.RFC3339Nano)))
		}},
		{name: "its restart is undone", do: func(p *pairScene, canary workload) {
			p.spare(canary, "")
			p.patch(canary, `{"spec":{"template":{"metadata":{"annotations":null}}}}`)
		}},
		{name: "answers are lost", do: func(p *pairScene, _ workload) { p.proxy.Inject(faultproxy.Mix{faultproxy.Timeout: 1}) },
			undo: func(p *pairScene, _ workload) { p.proxy.Inject(nil) }},
		{name: "the config is deleted", do: func(p *pairScene, _ workload) { p.ifThere(func() { p.delete(settings) }) }, undo: func(p *pairScene, _ workload) {
			p.make(settings, set("used", p.value), set("other", "v1"))
		}},
		{name: "the config is replaced", do: func(p *pairScene, _ workload) { p.ifThere(p.replaceSettings) }},
		{name: "the config is ignored", frees: true, do: func(p *pairScene, _ workload) {
			p.ifThere(func() { p.annotateConfig(settings, ignoreAnnotation, "true") })
		},
			undo: func(p *pairScene, _ workload) { p.annotateConfig(settings, ignoreAnnotation, "") }},
		{name: "another process leads", do: func(p *pairScene, _ workload) { p.replaceLeader() }},
	}
}

// stages are how far the first restart has come when the first event happens.
var stages = []struct {
	name  string
	await func(p *pairScene)
}{
	{"before it restarts", func(*pairScene) {}},
	{"once it has restarted", func(p *pairScene) { p.awaitRestarted(1) }},
	{"once it crashes", func(p *pairScene) {
		p.eventually("a workload is broken", func(context.Context) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.broken) == 0 {
				return errors.New("none is")
			}
			return nil
		})
	}},
	{"once it is halted", func(p *pairScene) { p.awaitHalted(2) }},
}

func TestPairsOfEventsBreakOneWorkload(t *testing.T) {
	t.Parallel()
	events, random := playedEvents(), rand.New(rand.NewPCG(1, 1))
	played := make(map[string]bool)
	for len(played) < *playedPairs {
		first, second, stage := events[random.IntN(len(events))], events[random.IntN(len(events))], stages[random.IntN(len(stages))]
		pause := time.Duration(random.IntN(2)) * 5 * time.Second
		name := fmt.Sprintf("%s %s, and %s after %s", first.name, stage.name, second.name, pause)
		if played[name] {
			continue
		}
		played[name] = true
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			p := newPairScene(t)
			p.letTimePass()
			p.bring("bad")
			stage.await(p)
			one := p.canary()
			first.do(p, one)
			p.awaitTime(time.Now().Add(pause))
			two := p.canary()
			second.do(p, two)
			requireOne := func(stays time.Duration) {
				if !first.frees && !second.frees {
					p.requireOne(stays)
				}
			}
			requireOne(10 * time.Second)
			if second.undo != nil {
				second.undo(p, two)
			}
			if first.undo != nil && first.name != second.name {
				first.undo(p, one)
			}
			requireOne(10 * time.Second)
			p.letTimePass()
			p.bring("good")
			p.awaitGood(time.Now().Truncate(time.Second))
		})
	}
}
