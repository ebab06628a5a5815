package judge

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/wording"
)

// absenceScene are absences of a leader, and what it has reported.
type absenceScene struct {
	*Absences
	record.EventRecorder
	reported []string
	last     string // of all Events
}

func newAbsenceScene(workloads ...string) *absenceScene {
	known := catalog.New()
	for _, name := range workloads {
		known.ObserveWorkload(workload.Workload{Object: workload.Object{Ref: objecttest.DeploymentNamed(name), UID: "u"}})
	}
	s := &absenceScene{}
	s.Absences = NewAbsences(known, &run.Role{}, s, slog.New(slog.DiscardHandler))
	s.role.Leading.Store(true)
	return s
}

// Event implements record.EventRecorder.
func (s *absenceScene) Event(object runtime.Object, eventType, reason, message string) {
	if reason == events.Missing {
		on := object.(*corev1.ObjectReference)
		s.reported = append(s.reported, objecttest.DeploymentNamed(on.Namespace+"/"+on.Name).String()+": "+message)
	}
	s.last = eventType + " " + message
}

func TestAnAbsenceIsReportedOnceIfItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAbsenceScene("a/early", "a/web")
		go s.Run(t.Context())
		s.Put(objecttest.DeploymentNamed("a/early"), "configmap/c does not exist", time.Now())
		s.Put(objecttest.DeploymentNamed("a/web"), "configmap/c does not exist", time.Now())
		time.Sleep(absencePatience / 2)
		s.Put(objecttest.DeploymentNamed("a/early"), "", time.Now()) // its config was created a little later
		for range 10 {
			time.Sleep(absencePatience)
			s.Put(objecttest.DeploymentNamed("a/web"), "configmap/c does not exist", time.Now())
		}
		synctest.Wait()
		if len(s.reported) != 1 || !strings.HasPrefix(s.reported[0], "deployment/a/web: configmap/c does not exist, which pods need to start") {
			t.Fatalf("reported: %q", s.reported)
		}
		s.Put(objecttest.DeploymentNamed("a/web"), "", time.Now())
		s.Put(objecttest.DeploymentNamed("a/web"), "configmap/other does not exist", time.Now())
		time.Sleep(2 * absencePatience)
		synctest.Wait()
		if len(s.reported) != 2 {
			t.Errorf("another config: %q", s.reported)
		}
	})
}

func TestANamespaceGetsFewReportsOfAbsences(t *testing.T) {
	s, start := newAbsenceScene(), time.Now()
	for i := range 10 * gatekeeper.MaxReportsOf {
		s.Put(objecttest.DeploymentNamed(fmt.Sprintf("a/web-%d", i)), "configmap/c does not exist", start)
	}
	s.Put(objecttest.DeploymentNamed("b/web"), "configmap/c does not exist", start)
	var namespaces []string
	for range 3 {
		for ref := range s.due(start.Add(absencePatience)) {
			namespaces = append(namespaces, ref.Namespace)
		}
	}
	slices.Sort(namespaces)
	if len(namespaces) != gatekeeper.MaxReportsOf+1 || namespaces[gatekeeper.MaxReportsOf] != "b" {
		t.Errorf("%d reports: %v", len(namespaces), namespaces)
	}
}

// The API server accepts any text as the name of a config that a template refers to.
func TestANameThatNoObjectCanHaveIsQuotedAndShort(t *testing.T) {
	lacking := func(name string) string {
		references := []template.Reference{{Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: name}, Channel: template.Environment}}
		return wording.Missing(&catalog.View{Workload: &workload.Workload{Object: workload.Object{References: references}}}, anyConfig)
	}
	text := lacking("x does not exist; look with: kubectl delete ns prod" + strings.Repeat("x", 200))
	if !strings.HasPrefix(text, `a config does not exist, because no object can have its name: "x does not exist; look`) || len(text) > 200 {
		t.Errorf("%s", text)
	}
	if text := lacking("c"); text != "configmap/c does not exist" {
		t.Errorf("%s", text)
	}
}

func TestTheEndOfSeveralAbsencesIsToldIfTheFirstWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ref := newAbsenceScene("a/web"), objecttest.DeploymentNamed("a/web")
		go s.Run(t.Context())
		s.Put(ref, "configmap/c and configmap/d do not exist", time.Now())
		time.Sleep(2 * absencePatience)
		synctest.Wait()
		s.Put(ref, "configmap/d does not exist", time.Now())
		time.Sleep(time.Second)
		if s.Put(ref, "", time.Now()); s.last != "Normal no config is missing any more that pods need to start" {
			t.Errorf("the last word is %q", s.last)
		}
	})
}

func TestTheLastWordOnAnAbsenceThatWasReportedIsThatItIsOver(t *testing.T) {
	const over = "Normal no config is missing any more that pods need to start"
	for name, test := range map[string]struct {
		lasts   time.Duration
		unheard bool // it began under a former leader, and ends before this one has reported it
		isIdle  bool
		want    string
	}{
		"a short one":                   {lasts: absencePatience / 2},
		"one that was reported":         {lasts: 2 * absencePatience, want: over},
		"that of a former leader":       {lasts: 2 * absencePatience, unheard: true, want: over},
		"one of a workload scaled down": {lasts: 2 * absencePatience, isIdle: true, want: "Normal it wants no pods any more, so they lack no config"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newAbsenceScene("a/web")
				ref := objecttest.DeploymentNamed("a/web")
				s.Put(ref, "configmap/c does not exist", time.Now())
				if !test.unheard {
					go s.Run(t.Context())
				}
				time.Sleep(test.lasts)
				synctest.Wait()
				s.catalog.ObserveWorkload(workload.Workload{Object: workload.Object{Ref: ref, UID: "u", ResourceVersion: "2", Idle: test.isIdle}})
				s.Put(ref, "", time.Now())
				if s.last != test.want {
					t.Errorf("the last word is %q, want %q", s.last, test.want)
				}
				s.last = ""
				if s.Put(ref, "", time.Now()); s.last != "" {
					t.Errorf("again: %q", s.last)
				}
				s.Put(ref, "configmap/c does not exist", time.Now())
				time.Sleep(2 * absencePatience)
				s.role.Leading.Store(false)
				synctest.Wait()
				if s.Put(ref, "", time.Now()); strings.HasPrefix(s.last, "Normal") {
					t.Errorf("a standby says %q", s.last)
				}
			})
		})
	}
}
