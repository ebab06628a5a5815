package controller

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// Workloads that are exposed to a content, where two things happen at once: one bad content breaks one workload.

// pair is two readers of the configs c and d, of which one restarts first.
type pair struct {
	*world
	t            *testing.T
	first, other string
}

// withPair plays with two readers in a world with a clock of its own.
func withPair(t *testing.T, play func(p *pair)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pair{world: gradual(t), t: t}
		p.edited("a/d", "1")
		for _, name := range []string{"a/web", "a/other"} {
			p.runs(name, nil, "c", "d")
		}
		settle(p.world)
		time.Sleep(time.Minute)
		play(p)
	})
}

// edit edits a config, for which one of the readers restarts.
func (p *pair) edit(config, value string) {
	p.t.Helper()
	p.edited(config, value)
	settle(p.world)
	p.noteFirst()
}

func (p *pair) noteFirst() {
	p.t.Helper()
	restarted := p.restarted()
	if len(restarted) != 1 {
		p.t.Fatalf("%q restarted", restarted)
	}
	p.first, p.other = restarted[0], "a/web"
	if p.first == p.other {
		p.other = "a/other"
	}
}

// pass lets time pass, and looks at all restarts every ten seconds.
func (p *pair) pass(d time.Duration) {
	p.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Second) {
		p.tick(0)
		for name := range p.deployments {
			p.controller.deliveries.Look(p.t.Context(), objecttest.DeploymentNamed(name))
		}
		settle(p.world)
	}
}

// lose loses the answer to the next patch. It is carried out or not, and something happens until the answer comes.
func (p *pair) lose(code int, isCarriedOut bool, meanwhile func()) {
	p.answer = func(r *http.Request) (int, any) {
		if r.Method != http.MethodPatch {
			return 0, nil
		}
		p.answer = nil
		p.first = "a/" + path.Base(r.URL.Path)
		if isCarriedOut {
			p.carryOut(p.t, r)
		}
		meanwhile()
		return lostAnswer(code)
	}
}

// undo removes the restart of the first reader, whose pods from before run again.
func (p *pair) undo() {
	p.show("deployments", p.deployments[p.first])
	p.changed(p.first, func(d *appsv1.Deployment) {
		d.Generation++
		d.Spec.Template.Annotations = nil
		wholeStatus(d)
	})
}

// requireHalted requires that so many contents are halted, and that nobody but the first reader has restarted.
func (p *pair) requireHalted(want int) {
	p.t.Helper()
	halts := p.controller.gate.ActiveHalts()
	if others := slices.DeleteFunc(p.restarted(), func(name string) bool { return name == p.first }); len(halts) != want || len(others) > 0 {
		p.t.Errorf("%d halts, want %d, and %q restarted beside %s", len(halts), want, others, p.first)
	}
}

func TestAHaltEndsOnlyIfTheBrokenWorkloadRunsItsContent(t *testing.T) {
	withPair(t, func(p *pair) {
		p.edit("a/c", "bad")
		p.fails(p.t, p.first)
		p.edited("a/c", "1")
		time.Sleep(time.Second)
		settle(p.world)
		p.changed(p.first, wholeStatus)
		p.controller.deliveries.Look(p.t.Context(), objecttest.DeploymentNamed(p.first))
		time.Sleep(10 * time.Second)
		p.edited("a/c", "bad") // while the restart for the revert soaks
		settle(p.world)
		p.pass(time.Minute)
		p.requireHalted(1)
	})
}

func TestAReleaseThatRunsWithAnythingEndsNoHaltWhenItIsRestarted(t *testing.T) {
	withPair(t, func(p *pair) {
		p.edit("a/c", "bad")
		p.fails(p.t, p.first)
		p.changed(p.first, func(d *appsv1.Deployment) {
			d.Generation++
			d.Spec.Template.Spec.Containers[0].Command = []string{"sleep", "1d"}
			wholeStatus(d)
		})
		settle(p.world)
		p.edited("a/d", "2")
		settle(p.world)
		p.changed(p.first, wholeStatus)
		p.pass(2 * time.Minute)
		p.requireHalted(1)
	})
}

// The failure is seen while the next edit waits for its grace period.
func TestAFailureAfterAnotherEditOfTheKeyCounts(t *testing.T) {
	withPair(t, func(p *pair) {
		p.edit("a/c", "bad")
		time.Sleep(time.Second)
		p.edited("a/c", "worse")
		p.fails(p.t, p.first)
		settle(p.world)
		p.requireHalted(0)
		p.fails(p.t, p.first)
		p.requireHalted(1)
		p.edited("a/c", "bad")
		p.requireHalted(1)
	})
}

func TestAFailureCountsAlthoughTheConfigWasReplacedByTheSameContent(t *testing.T) {
	withPair(t, func(p *pair) {
		p.edit("a/c", "bad")
		p.removeConfig("a/c")
		p.createConfig("a/c", "bad")
		settle(p.world)
		p.requireHalted(0)
		p.fails(p.t, p.first)
		p.pass(time.Minute)
		p.requireHalted(1)
	})
}

func TestAWorkloadThatIsScaledToZeroIsJudgedWhenItIsBack(t *testing.T) {
	withPair(t, func(p *pair) {
		p.edit("a/c", "bad")
		p.changed(p.first, func(d *appsv1.Deployment) {
			d.Spec.Replicas = new(int32)
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation}
		})
		p.pass(10 * time.Second)
		p.changed(p.first, func(d *appsv1.Deployment) {
			d.Generation++
			d.Spec.Replicas = new(int32(3))
			failed(d)
		})
		p.pass(30 * time.Minute)
		p.requireHalted(1)
	})
}

func TestARestartThatIsUndoneBeforeItsAnswerIsNoProof(t *testing.T) {
	for name, isLost := range map[string]bool{"it is answered": false, "its answer is lost": true} {
		t.Run(name, func(t *testing.T) {
			withPair(t, func(p *pair) {
				if isLost {
					p.lose(http.StatusGatewayTimeout, true, func() {
						p.undo()
						time.Sleep(50 * time.Second)
					})
				}
				p.edited("a/c", "bad")
				time.Sleep(time.Second)
				settle(p.world)
				if !isLost {
					p.noteFirst()
				}
				for range 24 {
					if slices.Contains(p.restarted(), p.first) {
						p.undo()
					}
					p.pass(10 * time.Second)
					p.requireHalted(0)
				}
			})
		})
	}
}

// The API server answers so if etcd takes too long, or elects another leader.
func TestAnInternalErrorOfTheServerIsALostAnswer(t *testing.T) {
	withPair(t, func(p *pair) {
		p.lose(http.StatusInternalServerError, true, func() {})
		p.edited("a/c", "bad")
		time.Sleep(time.Second)
		settle(p.world)
		p.requireHalted(0)
	})
}

func TestALostAnswerThatIsKnownToBeNoneKeepsNoSlot(t *testing.T) {
	withPair(t, func(p *pair) {
		p.lose(http.StatusGatewayTimeout, false, func() {
			p.changed(p.first, func(d *appsv1.Deployment) { d.Annotations[annotation.HoldAnnotation] = "an incident" })
			time.Sleep(50 * time.Second)
		})
		p.edited("a/c", "2")
		time.Sleep(time.Second)
		settle(p.world)
		p.pass(time.Minute)
		if restarted := p.restarted(); len(restarted) != 1 || restarted[0] == p.first {
			t.Errorf("%q restarted, and %s is held", restarted, p.first)
		}
	})
}

func TestOurNextRestartHidesNoCrash(t *testing.T) {
	for name, isLost := range map[string]bool{"the watch is faster than its answer": false, "its answer is lost": true} {
		t.Run(name, func(t *testing.T) {
			withPair(t, func(p *pair) {
				p.edit("a/c", "bad")
				p.changed(p.first, func(d *appsv1.Deployment) { d.Status.AvailableReplicas, d.Status.UpdatedReplicas = 2, 1 })
				time.Sleep(5 * time.Second)
				first := p.first
				p.lose(http.StatusGatewayTimeout, true, func() {
					p.show("deployments", p.deployments[first])
					p.controller.deliveries.Look(p.t.Context(), objecttest.DeploymentNamed(first))
					p.pods = map[string][]corev1.Pod{"a/": {{
						ObjectMeta: metav1.ObjectMeta{Name: "new", Namespace: "a", UID: "new", CreationTimestamp: metav1.Now(), OwnerReferences: []metav1.OwnerReference{{UID: "rs-" + p.deployments[first].UID, Controller: new(true)}}},
						Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "app", RestartCount: 5, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}},
					}}}
					if isLost {
						time.Sleep(10 * time.Second)
					}
				})
				if !isLost {
					lost := p.answer
					p.answer = func(r *http.Request) (int, any) {
						if code, _ := lost(r); code == 0 {
							return 0, nil
						}
						return http.StatusOK, p.deployments[first]
					}
				}
				p.edited("a/d", "2")
				settle(p.world)
				p.changed(first, func(d *appsv1.Deployment) {
					d.Status.ObservedGeneration, d.Status.AvailableReplicas, d.Status.UpdatedReplicas = d.Generation, 2, 1
				})
				if p.controller.deliveries.Of(objecttest.DeploymentNamed(first)).HasOthers {
					t.Error("our own restart counts as one of others")
				}
				p.pass(10 * time.Minute)
				p.requireHalted(2)
			})
		})
	}
}

func TestWhoMayBeBrokenByAnEarlierContentGoesFirst(t *testing.T) {
	for name, groups := range map[string][]names.ConfigRef{"a config": nil, "a copy of a group": {gate.GroupOf(names.ConfigMap, "c")}} {
		t.Run(name, func(t *testing.T) {
			withPair(t, func(p *pair) {
				p.controller.gate.FanOut.Groups = groups
				p.edit("a/c", "bad")
				p.show("deployments", p.deployments[p.first])
				time.Sleep(time.Second)
				w := p.controller.catalog.Workload(objecttest.DeploymentNamed(p.first))
				next := decide.Decision{Outcome: decide.Restart, Causes: []decide.Cause{{Config: aConfig, Keys: []string{"k"}}}}
				if standing := p.controller.deliveries.StandingOf(w, &next); standing != gate.Exposed {
					t.Errorf("its standing is %d", standing)
				}
				p.edited("a/c", "worse")
				changes := p.takeChanges()
				for _, isFirst := range []bool{false, true} { // its grace period is longer
					for _, change := range changes {
						if (change.Workload == objecttest.DeploymentNamed(p.first)) == isFirst {
							p.controller.due(change)
						}
					}
					for p.work() {
					}
				}
				p.requireHalted(0)
			})
		})
	}
}

// withKeys shows a ConfigMap of many keys, one of which may have another value.
func (p *pair) withKeys(value, ofSecond string) {
	data := map[string]string{}
	for i := range 12 {
		data[fmt.Sprintf("k%02d", i)] = value
	}
	data["k02"] = ofSecond
	p.configMaps["a/m"] = &corev1.ConfigMap{ObjectMeta: p.meta("a/m"), Data: data}
	p.show("configmaps", p.configMaps["a/m"])
}

func TestAnEditOfAKeyHidesNoneOfTheManyThatWereEditedBefore(t *testing.T) {
	withPair(t, func(p *pair) {
		p.withKeys("1", "1")
		p.runs("a/many", nil, "m")
		p.runs("a/narrow", map[string]string{annotation.HoldAnnotation: "it must not go first"})
		p.changed("a/narrow", func(d *appsv1.Deployment) {
			key := &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, Key: "k01"}
			d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: key}}}
		})
		settle(p.world)
		p.withKeys("bad", "bad")
		settle(p.world)
		time.Sleep(3 * time.Second)
		p.withKeys("bad", "good")
		settle(p.world)
		p.first = "a/many"
		p.fails(p.t, p.first)
		p.changed("a/narrow", func(d *appsv1.Deployment) { delete(d.Annotations, annotation.HoldAnnotation) })
		settle(p.world)
		if halts := p.controller.gate.ActiveHalts(); len(halts) == 0 {
			t.Error("nothing is halted")
		}
		p.requireHalted(len(p.controller.gate.ActiveHalts()))
	})
}

func TestAWorkloadCountsOnceForEachContent(t *testing.T) {
	withPair(t, func(p *pair) {
		c := p.controller
		c.gate.FanOut.Failures = 1
		c.beginToLead()
		c.gate.SetHaltsTried()
		c.gate.SetHaltsKnown(true)
		c.catalog.SetKey(catalogtest.TestKey)
		show := func(a, b string) {
			p.secrets["a/s"] = &corev1.Secret{ObjectMeta: p.meta("a/s"), Data: map[string][]byte{"a": []byte(a), "b": []byte(b)}}
			p.show("secrets", p.secrets["a/s"])
			settle(p.world)
		}
		show("1", "1")
		p.runs("a/reader", nil, "s")
		settle(p.world)
		show("2", "1")
		p.changed("a/reader", func(d *appsv1.Deployment) { d.Status.AvailableReplicas, d.Status.UpdatedReplicas = 2, 1 })
		time.Sleep(3 * time.Second)
		show("2", "2")
		p.first = "a/reader"
		p.fails(p.t, p.first)
		p.requireHalted(0)
	})
}

func TestATakeoverReportsNoEndOfAHaltOfAFormerContent(t *testing.T) {
	withPair(t, func(p *pair) {
		log := p.log()
		record := gate.HaltRecord{ID: "former", Config: aConfig.String(), Content: "00000000deadbeef", Failed: []string{"deployment/a/web"}, Since: time.Now().Add(-time.Hour), Gone: true}
		h, ok := record.Halt()
		if !ok {
			t.Fatal("it cannot be read")
		}
		p.controller.gate.Restore(h)
		p.controller.halts.EndHalts()
		if text := fmt.Sprint(log); strings.Contains(text, "resumed") {
			t.Errorf("the log is:\n%s", text)
		}
	})
}

// runsAnew shows pods of the first reader that started just now, and run.
func (p *pair) runsAnew() {
	now := metav1.Now()
	p.pods = map[string][]corev1.Pod{"a/": {}}
	for i := range 3 {
		p.pods["a/"] = append(p.pods["a/"], corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Namespace: "a", UID: types.UID(fmt.Sprint(i)), CreationTimestamp: now, OwnerReferences: []metav1.OwnerReference{{UID: "rs-" + p.deployments[p.first].UID, Controller: new(true)}}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}}},
		})
	}
}

func TestAHaltEndsWhenTheBrokenWorkloadRunsAsBefore(t *testing.T) {
	for name, play := range map[string]func(p *pair){
		"a bad release is taken back": func(p *pair) {
			p.edit("a/c", "good")
			time.Sleep(5 * time.Second)
			was := p.deployments[p.first].Spec.Template.Spec.Containers[0].Command
			release := func(command []string) func(*appsv1.Deployment) {
				return func(d *appsv1.Deployment) {
					d.Generation++
					d.Spec.Template.Spec.Containers[0].Command = command
				}
			}
			p.changed(p.first, release([]string{"bad"}))
			p.fails(p.t, p.first)
			settle(p.world)
			p.requireHalted(1)
			p.pass(time.Minute)
			p.changed(p.first, release(was))
		},
		"a restart is brought back that was undone": func(p *pair) {
			p.edit("a/c", "good")
			p.fails(p.t, p.first)
			restarted := p.deployments[p.first].Spec.Template.Annotations
			p.undo()
			settle(p.world)
			p.pass(time.Minute)
			p.requireHalted(1)
			p.changed(p.first, func(d *appsv1.Deployment) { d.Generation, d.Spec.Template.Annotations = d.Generation+1, restarted })
		},
		"it was scaled to zero": func(p *pair) {
			p.edit("a/c", "good")
			p.fails(p.t, p.first)
			p.changed(p.first, func(d *appsv1.Deployment) {
				d.Spec.Replicas = new(int32)
				d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation}
			})
			p.pass(time.Minute)
			p.requireHalted(1)
			p.changed(p.first, func(d *appsv1.Deployment) { d.Generation++ })
		},
	} {
		t.Run(name, func(t *testing.T) {
			withPair(t, func(p *pair) {
				play(p)
				p.changed(p.first, wholeStatus)
				p.runsAnew()
				p.pass(time.Hour)
				if halts := p.controller.gate.ActiveHalts(); len(halts) > 0 {
					p.t.Errorf("it goes on: %+v", halts)
				}
			})
		})
	}
}

// With the default limit of the budget, each restart begins as late as the deadline of the last one.
func TestAWriterThatUndoesEachRestartStopsNoFanOut(t *testing.T) {
	withPair(t, func(p *pair) {
		p.controller.restarter.BackoffLimit = 10 * time.Minute
		p.edit("a/c", "good")
		p.runsAnew() // and never again
		for range 6 * 60 * 3 {
			if slices.Contains(p.restarted(), p.first) {
				p.undo()
			}
			p.pass(10 * time.Second)
			if slices.Contains(p.restarted(), p.other) {
				return
			}
		}
		p.t.Errorf("%s has waited for hours", p.other)
	})
}

func TestTheHaltOfAGroupHoldsAgainAtOnceWhenACopyHasItsContent(t *testing.T) {
	withPair(t, func(p *pair) {
		group := gate.GroupOf(names.ConfigMap, "c")
		g := p.controller.gate
		g.FanOut.Groups = []names.ConfigRef{group}
		p.edited("a/c", "bad")
		g.Restore(gate.Halt{ID: "of-all", Config: group, Content: g.Catalog.ContentID(aConfig, nil), Since: time.Now()})
		settle(p.world)
		p.requireHalted(1)
		p.edited("a/c", "1")
		g.ContentChanged(group, time.Now()) // as the keeper does now and then
		p.requireHalted(0)
		p.edited("a/c", "bad")
		p.requireHalted(1)
	})
}
