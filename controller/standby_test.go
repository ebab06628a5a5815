package controller

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/pending"
)

// standby is a world with a workload, nothing of whose changes is taken from the queue.
type standby struct {
	*testing.T
	*world
}

func newStandby(t *testing.T) standby {
	s := standby{t, newWorld(t)}
	list(s.world, "configmaps", s.configMaps)
	return s
}

// reads lets the workload read the named configs from now on.
func (s standby) reads(configs ...string) {
	d := s.deployment("ns/web", configs...)
	d.UID = "the same"
	s.show("deployments", d)
}

func (s standby) configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: s.meta("ns/" + name), Data: map[string]string{"key": value}}
}

func (s standby) requireWaiting(when string, configs ...string) {
	s.Helper()
	queue := s.controller.changes
	if got := queue.Len(); got != len(configs)+1 || queue.Order.Len() != got {
		s.Fatalf("%s: changes of %d subjects wait, want the workload's own and those of %d configs", when, got, len(configs))
	}
	for _, name := range configs {
		if !queue.Holds(objecttest.Web, names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: name}) {
			s.Fatalf("%s: no change of %s waits", when, name)
		}
	}
}

func TestTheChangesOfAStandbyAreThoseOfConfigsThatAreThereAndReferenced(t *testing.T) {
	s := newStandby(t)
	const rounds, perRound = 100, 90
	for round := range rounds {
		var names []string
		for i := range perRound {
			names = append(names, fmt.Sprintf("config-%d-%d", round, i))
		}
		s.reads(append(names, "kept")...)
		s.show("configmaps", s.configMap("kept", fmt.Sprint(round)))
		for _, name := range names {
			s.show("configmaps", s.configMap(name, "x"))
		}
		s.requireWaiting("all are there", append(names, "kept")...)
		for i, name := range names {
			if i%2 == round%2 { // the others stay and are not referenced any more
				s.hide("configmaps", s.configMap(name, "x"))
			}
		}
	}
	s.reads("kept")
	s.requireWaiting("after thousands of configs have come and gone", "kept")
	s.hide("configmaps", s.configMap("kept", "x"))
	s.requireWaiting("after all of them are gone")
}

func TestAConfigThatIsGoneFromAListIsNoChangeOfAStandby(t *testing.T) {
	s := newStandby(t)
	s.reads("a", "b")
	s.configMaps["ns/a"], s.configMaps["ns/b"] = s.configMap("a", "x"), s.configMap("b", "x")
	list(s.world, "configmaps", s.configMaps)
	s.requireWaiting("both are there", "a", "b")
	delete(s.configMaps, "ns/a")
	list(s.world, "configmaps", s.configMaps)
	s.requireWaiting("one is gone", "b")
}

func TestAConfigThatComesBackWithOtherContentIsAChangeOfAStandby(t *testing.T) {
	s := newStandby(t)
	s.reads("a")
	s.show("configmaps", s.configMap("a", "x"))
	s.hide("configmaps", s.configMap("a", "x"))
	s.requireWaiting("it is gone")
	s.show("configmaps", s.configMap("a", "y"))
	s.requireWaiting("it is back", "a")
}

// The change of a workload itself is not due while those of its configs wait. If these
// are dropped, the controller must still decide about the workload.
func TestAWorkloadThatWaitedForAConfigWhichIsGoneIsDecidedAbout(t *testing.T) {
	s := newStandby(t)
	s.reads("a")
	s.show("configmaps", s.configMap("a", "x"))
	own := pending.ObservedChange{Workload: objecttest.Web, Subject: objecttest.Web, Since: time.Now(), Count: 1}
	s.controller.changes.Forget(objecttest.Web)
	s.show("configmaps", s.configMap("a", "y"))
	s.controller.due(own)
	if s.controller.restarter.Queue.Len() != 0 {
		t.Fatal("it does not wait for the change of the config")
	}
	s.hide("configmaps", s.configMap("a", "y"))
	for _, change := range s.takeChanges() {
		s.controller.due(change)
	}
	if s.controller.restarter.Queue.Len() != 1 {
		t.Error("it is forgotten")
	}
}
