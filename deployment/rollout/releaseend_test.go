package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"pgregory.net/rapid"
)

// trialOfPods is a Deployment whose pods of one image fare as they are told to, with the ReplicaSet controller.
type trialOfPods struct {
	*rapid.T
	s *State
	// fates says for each image what its pods show; see [sights]. Flapping pods become ready and hang again, and restarted
	// ones are ready and have crashed. Pods of other images are fine.
	fates map[string]string
	// images are those of the ReplicaSets.
	images map[string]string
	// since is when the pods of a ReplicaSet start, which is late, such as because there is no node.
	since map[string]time.Time
	late  time.Duration
	kills int
	// slips is how often pods are not ready any more when they are looked at. look is the last one by the present process.
	slips int
	look  Look
}

// newTrialOfPods returns one whose image v1 has completed, as a note or the condition says.
func newTrialOfPods(t *rapid.T, isFirst bool) *trialOfPods {
	d := drawn{T: t}
	replicas := int32(d.number("replicas", 2, 8))
	p := &trialOfPods{T: t, fates: map[string]string{}, images: map[string]string{}, since: map[string]time.Time{}, kills: rapid.IntRange(0, 6).Draw(t, "kills"), slips: rapid.IntRange(0, 3).Draw(t, "slips")}
	limits := []string{"0", "1", "2", "25%", "50%", "100%"}
	strategy := rolling(d.pick("surge", limits...), d.pick("unavailable", limits...))
	if d.chance("recreate", 4) {
		strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	p.s = stateOf(web(replicas, "v1", func(object *appsv1.Deployment) {
		object.Spec.Strategy = strategy
		object.Annotations[onFailureAnnotation] = fallBack
		object.Spec.RevisionHistoryLimit = new(int32(rapid.IntRange(0, 2).Draw(t, "limit")))
	}))
	defer func() {
		p.late = rapid.SampledFrom([]time.Duration{0, 0, 5 * time.Minute, 15 * time.Minute}).Draw(t, "late")
	}()
	if !isFirst {
		p.settle()
		if end := lastEnd(p.s); end.Ended != completed {
			t.Fatalf("the first release ended %v", end)
		}
		if d.chance("before it asked", 3) { // only the condition says so
			for _, rs := range p.s.ReplicaSets {
				delete(rs.Annotations, outcomeAnnotation)
			}
		}
	}
	return p
}

// image is that of the Deployment's template.
func (p *trialOfPods) image() string {
	return p.s.Deployment.Template.decode().Spec.Containers[0].Image
}

// change is a user's write.
func (p *trialOfPods) change(edit func(*appsv1.Deployment)) {
	d := p.s.Deployment
	object := deploymentObject(int32(d.Replicas), p.image())
	object.Spec.Template = *d.Template.decode()
	object.Spec.Strategy = rolling(fmt.Sprint(d.Limits.MaxSurge), fmt.Sprint(d.Limits.MaxUnavailable))
	if d.Strategy == appsv1.RecreateDeploymentStrategyType {
		recreated(object)
	}
	object.Spec.RevisionHistoryLimit = d.HistoryLimit
	object.Annotations, object.Status, object.Generation = maps.Clone(d.Annotations), d.Status, d.Generation+1
	edit(object)
	p.s.Deployment = NewDeployment(object)
	p.s.Deployment.Runs = d.Runs
}

// roll changes the image, whose pods have a fate.
func (p *trialOfPods) roll(image, fate string) {
	p.fates[image] = fate
	p.change(func(d *appsv1.Deployment) { d.Spec.Template = templateOf(image) })
}

// settle goes on until nothing happens any more, or only the pods are looked at again and again. The engine may be killed
// between any two writes.
func (p *trialOfPods) settle() {
	for steps, idle := 0, 0; idle < 20; steps++ {
		if steps > 400 {
			p.Fatal("it does not come to an end")
		}
		actions, wake := Plan(p.s)
		requireKept(p.T, actions)
		checkReleases(p.T, p.s, actions)
		p.checkProof(actions)
		p.checkTime(actions)
		if p.s.Deployment.Strategy == appsv1.RollingUpdateDeploymentStrategyType || steps > 0 {
			checkLimits(p.T, p.s, actions)
		}
		if len(actions) == 0 && wake.IsZero() {
			return
		}
		idle++
		if slices.ContainsFunc(actions, isWrite) {
			idle = 0
		}
		if len(actions) > 0 && p.kills > 0 && rapid.Bool().Draw(p.T, "killed") {
			p.kills--
			p.carryOut(actions[:rapid.IntRange(0, len(actions)-1).Draw(p.T, "after")])
			p.s.Trial, p.s.Created, p.look = nil, "", Look{}
			continue
		}
		p.carryOut(actions)
		p.s.Now = p.s.Now.Add(100 * time.Millisecond)
		if len(actions) == 0 && wake.After(p.s.Now) {
			p.s.Now = wake
		}
	}
}

func isWrite(a Action) bool { return a.Kind() != "look" }

func (p *trialOfPods) carryOut(actions []Action) {
	created := p.image()
	p.s = carryOut(p.s, actions)
	for _, rs := range p.s.ReplicaSets {
		if p.images[rs.Name] == "" {
			p.images[rs.Name] = created
		}
	}
	p.runPods()
	for _, action := range actions {
		if look, isLook := action.(LookAtPods); isLook {
			seen := *p.s.Trial
			seen.Look = Look{At: look.At, IsLast: look.IsLast}
			rs := setOf(p.s, look.Target)
			seen.Ready = rs.Ready
			if p.slips > 0 && seen.Ready > 0 {
				p.slips--
				seen.Ready--
			}
			seen.Worst = finding(p.shows(rs), p.since[rs.Name])
			p.s.Trial, p.look = &seen, seen.Look
		}
	}
}

// shows is what the pods of a ReplicaSet show; see [sights].
func (p *trialOfPods) shows(rs *ReplicaSet) string {
	fate := p.fateOf(rs)
	switch {
	case p.isLate(rs):
		return "unstarted"
	case fate == "flapping":
		return "hanging"
	case fate == "restarted":
		return "crash"
	}
	return fate
}

// isLate reports whether the pods of a ReplicaSet have yet to start. Those that do not hang start at once.
func (p *trialOfPods) isLate(rs *ReplicaSet) bool {
	fate := p.fateOf(rs)
	return p.s.Now.Before(p.since[rs.Name]) && (fate == "hanging" || fate == "image" || fate == "flapping")
}

// checkTime checks that pods had all the time that they may take to become ready, also if they started late.
func (p *trialOfPods) checkTime(actions []Action) {
	for _, action := range actions {
		a, isUpdate := action.(UpdateReplicaSet)
		if !isUpdate || a.FailedBy != FailedUnready && a.FailedBy != FailedByImage {
			continue
		}
		if had := p.s.Now.Sub(p.since[a.Target.Name]); had < *p.s.Deployment.ProgressDeadline {
			p.Fatalf("its pods had %s: %s", had, a)
		}
	}
}

// checkProof checks that nothing is noted as complete after another release unless all pods were seen to be ready and well.
func (p *trialOfPods) checkProof(actions []Action) {
	back := wayBack(p.s)
	for _, action := range actions {
		a, isUpdate := action.(UpdateReplicaSet)
		if !isUpdate || back == nil || !strings.Contains(a.Annotations[outcomeAnnotation], string(completed)) {
			continue
		}
		if rs := setOf(p.s, a.Target); rs.Bare != back.Bare && (p.look.Ready < p.s.Deployment.Replicas || p.look.Worst.IsBroken() || !p.look.IsLast) {
			p.Fatalf("complete after %+v: %s", p.look, a)
		}
	}
}

func (p *trialOfPods) fateOf(rs *ReplicaSet) string {
	if fate := p.fates[p.images[rs.Name]]; fate != "" {
		return fate
	}
	return "fine"
}

// runPods lets all pods become what they will.
func (p *trialOfPods) runPods() {
	obey(p.s)
	for _, rs := range p.s.ReplicaSets {
		if _, started := p.since[rs.Name]; !started && rs.Replicas > 0 {
			p.since[rs.Name] = p.s.Now.Add(p.late)
		}
		fate := p.fateOf(rs)
		if p.isLate(rs) {
			fate = "unstarted"
		}
		switch fate {
		case "fine", "restarted":
		case "flapping": // one pod at a time
			rs.Ready = min(int64(rapid.IntRange(0, 1).Draw(p.T, "ready")), rs.Replicas)
			rs.Available = rs.Ready
		default:
			rs.Ready, rs.Available = 0, 0
		}
	}
}

// causeOf is why a release with a fate fails, empty if it does not.
var causeOf = map[string]FailureCause{
	"crash": FailedByCrash, "config": FailedByConfig, "image": FailedByImage, "hanging": FailedUnready, "flapping": FailedUnready, "restarted": FailedByCrash,
}

// requireEnd checks that the rollout is complete, stuck or fallen back, by the fate of its pods.
func (p *trialOfPods) requireEnd(fate string) {
	end, cause := lastEnd(p.s), causeOf[fate]
	switch {
	case fate == "fine":
		if !p.s.Deployment.IsRolledOut() || end.Ended != completed || p.has(conditionFallenBack) || !p.s.Deployment.IsHeldUp(reasonComplete) {
			p.Fatalf("pods are fine, and it ends with %v of %d, %v, %+v", sizesOf(p.s), p.s.Deployment.Replicas, end, p.s.Deployment.Status.Conditions)
		}
	case cause != "":
		if !isWayBackTaken(p.s) || end.Cause != cause {
			p.Fatalf("%s, and it ends with %v of %d, %v, %+v", fate, sizesOf(p.s), p.s.Deployment.Replicas, end, p.s.Deployment.Status.Conditions)
		}
	default:
		p.requireStuck()
	}
}

// requireStuck checks that the deadline was exceeded and nothing fell back.
func (p *trialOfPods) requireStuck() {
	if !p.s.Deployment.IsHeldUp(ReasonTimedOut) || p.has(conditionFallenBack) || lastEnd(p.s).Ended == failed {
		p.Fatalf("it ends with %v, %v, %+v", sizesOf(p.s), lastEnd(p.s), p.s.Deployment.Status.Conditions)
	}
}

// requireUnjudged checks that a rollout ended as it does without releases: pods that are ready are enough.
func (p *trialOfPods) requireUnjudged(image string) {
	if p.fates[image] == "restarted" {
		p.requireEnd("fine")
		return
	}
	p.requireStuck()
}

func (p *trialOfPods) has(kind appsv1.DeploymentConditionType) bool {
	return newConditions(p.s.Now, p.s.Deployment.Status.Conditions).get(kind) != nil
}

// sizeOf is how many pods an image is to have.
func (p *trialOfPods) sizeOf(image string) (size int64) {
	for _, rs := range p.s.ReplicaSets {
		if p.images[rs.Name] == image {
			size += rs.Replicas
		}
	}
	return size
}

func (p *trialOfPods) drawFate() string {
	return rapid.SampledFrom(append(slices.Sorted(maps.Keys(sights)), "flapping", "restarted")).Draw(p.T, "fate")
}

func (p *trialOfPods) drawFailure() string {
	return rapid.SampledFrom(slices.Sorted(maps.Keys(causeOf))).Draw(p.T, "failure")
}

func TestAReleaseEndsAsItsPodsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newTrialOfPods(t, false)
		fate := p.drawFate()
		p.roll("v2", fate)
		p.settle()
		p.requireEnd(fate)
	})
}

func TestAFirstRolloutNeverFallsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newTrialOfPods(t, true)
		p.fates["v1"] = p.drawFailure()
		p.settle()
		p.requireUnjudged("v1")
	})
}

func TestARestartNeverFallsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newTrialOfPods(t, false)
		p.fates["v1"] = p.drawFailure()
		p.change(func(d *appsv1.Deployment) { d.Spec.Template = *restartOf(&d.Spec.Template, "now") })
		p.settle()
		p.requireUnjudged("v1")
	})
}

// What may come after a release has failed.
func TestAFailedReleaseIsTriedAgainOnlyIfSomebodyAsks(t *testing.T) {
	for name, next := range map[string]func(p *trialOfPods){
		"nothing": func(p *trialOfPods) { p.requireFallenBack() },
		"scaled": func(p *trialOfPods) {
			replicas := int32(rapid.IntRange(1, 12).Draw(p.T, "scaled to"))
			p.change(func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas })
			p.settle()
			p.requireFallenBack()
		},
		"scaled to 0 and back": func(p *trialOfPods) {
			p.change(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) })
			p.settle()
			p.requireFallenBack()
			p.change(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(3)) })
			p.settle()
			p.requireFallenBack()
		},
		"restarted": func(p *trialOfPods) {
			p.change(func(d *appsv1.Deployment) { d.Spec.Template = *restartOf(&d.Spec.Template, "now") })
			p.settle()
			p.requireFallenBack()
			if end := outcomeOf(p.failedSet()); end.Ended != failed { // the earlier ReplicaSets may go
				p.Fatalf("the restart ended %v", end)
			}
		},
		"an outdated retry": func(p *trialOfPods) {
			p.retry(fmt.Sprintf("%s/%d", p.failedSet().Name, rapid.IntRange(0, 1).Draw(p.T, "attempt")))
			p.settle()
			p.requireFallenBack()
		},
		"a retry of another": func(p *trialOfPods) {
			p.retry("web-other/7")
			p.settle()
			p.requireFallenBack()
		},
		"a retry that fails, and one that does not": func(p *trialOfPods) {
			p.retry(p.failedSet().Name + "/2")
			p.settle()
			p.requireFallenBack()
			if attempt := lastEnd(p.s).Attempt; attempt != 2 {
				p.Fatalf("attempt %d", attempt)
			}
			p.fates["v2"] = "fine"
			p.retry(p.failedSet().Name + "/3")
			p.settle()
			p.requireEnd("fine")
		},
		"pods that would be fine now": func(p *trialOfPods) {
			p.fates["v2"] = "fine"
			p.settle()
			p.requireFallenBack()
		},
		"undo": func(p *trialOfPods) {
			p.change(func(d *appsv1.Deployment) { d.Spec.Template = templateOf("v1") })
			p.settle()
			p.requireEnd("fine")
			p.roll("v2", "fine") // a way back to the release of before is no other release
			p.settle()
			p.requireEnd("fine")
		},
		"another release, and again": func(p *trialOfPods) {
			fate := p.drawFate()
			p.roll("v3", fate)
			p.settle()
			p.requireEnd(fate)
			// With a history of 0, it is forgotten when all pods of the next one are ready, even if that fails, too.
			isForgotten := !slices.ContainsFunc(p.s.ReplicaSets, func(rs *ReplicaSet) bool { return p.images[rs.Name] == "v2" })
			p.roll("v2", "fine")
			p.settle()
			if fate != "fine" && !isForgotten {
				p.requireFallenBack()
				return
			}
			p.requireEnd("fine")
		},
		"no wish any more": func(p *trialOfPods) {
			p.fates["v2"] = "fine"
			p.change(func(d *appsv1.Deployment) { delete(d.Annotations, onFailureAnnotation) })
			p.settle()
			for _, rs := range p.s.ReplicaSets {
				if rs.Annotations[outcomeAnnotation] != "" {
					p.Fatalf("the note is left: %s", rs.Annotations[outcomeAnnotation])
				}
			}
			if !p.s.Deployment.IsRolledOut() || p.has(conditionFallenBack) {
				p.Fatalf("it ends with %v, %+v", sizesOf(p.s), p.s.Deployment.Status.Conditions)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := newTrialOfPods(t, false)
				p.roll("v2", p.drawFailure())
				p.settle()
				p.requireFallenBack()
				next(p)
			})
		})
	}
}

func (p *trialOfPods) requireFallenBack() {
	if !isWayBackTaken(p.s) || p.sizeOf("v2") != 0 {
		p.Fatalf("it is not fallen back, with %v of %d, %v, %+v", sizesOf(p.s), p.s.Deployment.Replicas, lastEnd(p.s), p.s.Deployment.Status.Conditions)
	}
}

func (p *trialOfPods) failedSet() *ReplicaSet { return p.s.Deployment.NewReplicaSet(p.s.ReplicaSets) }

func (p *trialOfPods) retry(value string) {
	p.change(func(d *appsv1.Deployment) { d.Annotations[retryAnnotation] = value })
}
