package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/dump"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/internal/podtemplate"
)

// stepAnnotations are those that a Deployment sets for steps.
var stepAnnotations = []string{stepsAnnotation, soakAnnotation, stepsForAnnotation, promoteAnnotation, abortAnnotation}

// askForSteps draws the annotations for steps, readable ones and others.
func (d drawn) askForSteps(annotations map[string]string) {
	lists := []string{"1", "1, 25%, 50%", "2,4", "25%,50%,75%", " 1 ,3", "100%", "50%,1,2"}
	odd := []string{"x", "0", "1,,2", ",", "101%", "all", "-1", "1.5", "2147483648", strings.Repeat("1,", longestSteps)}
	for _, a := range []struct {
		key    string
		of     int
		values []string
	}{
		{stepsAnnotation, 1, append(slices.Concat(lists, lists, lists), odd...)},
		{soakAnnotation, 2, []string{"10m", "10m", "1s", manual, "x", "-1m", "0s"}},
		{stepsForAnnotation, 4, []string{forAll, forReleases, forRestarts, "x"}},
		{promoteAnnotation, 4, promotions},
		{abortAnnotation, 5, []string{"web-v2/1", "web-v2/2", "web-v3/1", "web-v1/1", "web-v2", "web-v2/01", "web-v2/x"}},
	} {
		if d.chance(a.key, a.of) {
			annotations[a.key] = d.pick(a.key, a.values...)
		}
	}
}

// promotions are values of the annotation that lets steps end.
var promotions = []string{
	"web-v2", "web-v2/1", "web-v2/2", "web-v2/25%",
	"web-v2/1/1", "web-v2/1/2", "web-v2/25%/2", "web-v2//1", "web-v2/all", "web-v3", "web-v3/1", "web-v3/1/2", "web-v3/25%", "web-v1", "web-v1/1", "web-v2/x", "/1", "x",
	"web-v2/" + strings.Repeat("1", longestPromotion),
}

// steps draws a step for an outcome, as the engine notes it, or an odd one.
func (d drawn) step(o *outcome) {
	o.Step = d.pick("step", "1", "1", "2", "25%", "50%", "4", "100%", every, "x", "0", "")
	o.Promoted = d.pick("promoted", "", "", "web-v2", "web-v2/1", "web-v2/25%", "web-v3", "web-v3/1", "x")
	if d.chance("was aborted", 6) {
		o.Cause = FailedByAbort
	}
}

// held draws a state that is at a step, most often: the present rollout is noted at one, or about to be, and another one completed
// before. It may have come as far as the step allows, and the status may say so.
func (d drawn) held() *State {
	d.inSteps = true
	s := d.state()
	present := s.Deployment.NewReplicaSet(s.ReplicaSets)
	others := slices.DeleteFunc(slices.Clone(s.ReplicaSets), func(rs *ReplicaSet) bool { return rs == present })
	if present == nil || len(others) == 0 {
		return s
	}
	last := others[rapid.IntRange(0, len(others)-1).Draw(d.T, "last")]
	isBack := d.chance("way back", 8)
	for _, rs := range s.ReplicaSets {
		if o := outcomeOf(rs); isOfRelease(s, rs) && o.Ended == completed && !isBack {
			delete(rs.Annotations, outcomeAnnotation)
		}
	}
	noted(last, outcome{UID: last.UID, Ended: completed, Order: 5})
	o := outcome{UID: present.UID, Order: 6, Attempt: 1, Step: "1"}
	if steps := listed(s.Deployment.Annotations[stepsAnnotation]); steps != nil {
		o.Step = d.pick("which step", steps...)
	}
	if d.chance("another step", 4) {
		d.step(&o)
	}
	if !d.chance("it has begun", 6) {
		noted(present, o)
	}
	if d.chance("promoted", 3) {
		s.Deployment.Annotations[promoteAnnotation] = present.Name + d.pick("what", "", "/"+o.Step, "/"+o.Step, "/"+o.Step, "/"+o.Step+"/1")
	}
	if d.chance("aborted", 4) {
		s.Deployment.Annotations[abortAnnotation] = present.Name + "/1"
	}
	if !d.chance("under way", 3) {
		d.whole(s, present, last)
	}
	return s
}

// whole brings the pods to where the present step holds, and may make the status and a look say so.
func (d drawn) whole(s *State, present, last *ReplicaSet) {
	most := standOf(s).most
	if most >= s.Deployment.Replicas { // no step limits it
		return
	}
	s.Created = ""                                    // else the status is about that
	delete(s.Deployment.Annotations, retryAnnotation) // which would make it another attempt
	for _, rs := range s.ReplicaSets {
		rs.Replicas = 0
		switch rs {
		case present:
			rs.Replicas = most
		case last:
			rs.Replicas = s.Deployment.Replicas - most
		}
		rs.Observed, rs.Existing, rs.Ready, rs.Available = true, rs.Replicas, rs.Replicas, rs.Replicas
		rs.Deleting = rs.Deleting && rs != present && rs != last
		maps.Copy(rs.Annotations, s.Deployment.sizeAnnotations())
	}
	if d.chance("one is not available", 4) && present.Replicas > 0 {
		present.Available--
	}
	if most == 0 || d.chance("not looked at", 4) { // there is nothing to look at
		return
	}
	if d.chance("soaks", 2) {
		s.Deployment.Annotations[soakAnnotation] = "10m"
	}
	since := s.Now.Add(-rapid.SampledFrom([]time.Duration{0, 599 * time.Second, 600 * time.Second, time.Hour, time.Hour}).Draw(d.T, "held since"))
	looked := s.Now.Add(-rapid.SampledFrom([]time.Duration{0, 0, time.Second, time.Minute}).Draw(d.T, "looked at"))
	s.Trial = &Trial{Of: present.UID, Attempt: 1, Look: Look{At: looked, IsLast: !d.chance("not to prove", 8), Ready: present.Ready}}
	if d.chance("sees", 6) {
		s.Trial.Worst = finding(d.pick("worst", slices.Sorted(maps.Keys(sights))...), since)
	}
	if d.chance("another number", 8) {
		s.Trial.Ready = d.number("seen ready", 0, 8)
	}
	p := newPlan(s)
	if !p.isHeld() || d.chance("it is said otherwise", 8) {
		return
	}
	message, waits := p.holdMessage(), corev1.ConditionTrue
	if d.chance("of another step", 8) {
		message = fmt.Sprintf("The release waits at step 7, with 7 of 12 pods of ReplicaSet %q.", present.Name)
	}
	if !p.isWhole() {
		waits = corev1.ConditionFalse
	}
	conditions := &s.Deployment.Status.Conditions
	*conditions = slices.DeleteFunc(*conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing || c.Type == conditionAtStep
	})
	*conditions = append(*conditions, condition(conditionAtStep, waits, reasonRelease, message, since.Sub(noon).Seconds()),
		condition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonPaused, message, since.Sub(noon).Seconds()))
}

// stand is where the present rollout stands in its steps, by the notes and by what a person asks for.
type stand struct {
	present, last *ReplicaSet // that is rolled out, and that completed last
	end           outcome     // how far it is; its step counts only if isNoted
	isNoted       bool
	isRestart     bool
	// isFree means that it may not take steps: it is the first rollout, or a way back, or it has failed.
	isFree bool
	// most is how many new pods there may be, and step which step says so.
	most int64
	step string
}

// unlimited is more than any number of pods.
const unlimited = math.MaxInt64

// isLimited reports whether a step limits the rollout.
func (st *stand) isLimited() bool { return st.most < unlimited }

// sizeAt is how many pods a step allows, 0 if it cannot be read.
func sizeAt(step string, replicas int64) int64 {
	number := strings.TrimSuffix(step, "%")
	n, err := strconv.Atoi(number)
	if step == every {
		return unlimited
	}
	if err != nil || n < 1 || n > math.MaxInt32 || strings.ContainsAny(number, "+-") {
		return 0
	}
	if number == step {
		return int64(n)
	}
	if n > 100 {
		return 0
	}
	return int64(max(1, math.Ceil(float64(replicas)*float64(n)/100)))
}

// listed reads a list of steps, nil if one of them cannot be read.
func listed(list string) (steps []string) {
	for _, step := range strings.Split(list, ",") {
		if step = strings.TrimSpace(step); sizeAt(step, 1) == 0 || step == every || len(list) > longestSteps {
			return nil
		}
		steps = append(steps, step)
	}
	return steps
}

// isOfRelease reports whether a ReplicaSet has the present template, apart from restarts.
func isOfRelease(s *State, rs *ReplicaSet) bool {
	return rs.Bare == bareOf(s) || rs == s.Deployment.NewReplicaSet(s.ReplicaSets)
}

// bareOf is the sum of the present template without restarts, which the notes tell from releases whatever it asks for by now.
func bareOf(s *State) podtemplate.Sum {
	isNoted := func(rs *ReplicaSet) bool { return rs.Annotations[outcomeAnnotation] != "" }
	if d := s.Deployment; !knowsReleases(d.Annotations) && slices.ContainsFunc(s.ReplicaSets, isNoted) {
		_, bare := sumsOf(d.Template.decode(), true)
		return bare
	}
	return s.Deployment.Bare
}

// mayTakeSteps reports whether steps are possible at all.
func mayTakeSteps(s *State) bool {
	d := s.Deployment
	return d.Strategy == appsv1.RollingUpdateDeploymentStrategyType && d.ProgressDeadline != nil && !s.IsBackup && !d.Deleting
}

// remembers reports whether the engine keeps notes: the Deployment asks to fall back or for steps, or is amid them, or a person
// has aborted it then.
func remembers(s *State) bool {
	last := latestCompleted(s)
	isSince := func(rs *ReplicaSet) bool {
		return isOfRelease(s, rs) && (last == nil || outcomeOf(rs).Order > outcomeOf(last).Order)
	}
	isAtStep := func(rs *ReplicaSet) bool { o := outcomeOf(rs); return isSince(rs) && o.Ended == "" && o.Step != "" }
	isAborted := func(rs *ReplicaSet) bool {
		o := outcomeOf(rs)
		return isSince(rs) && o.Ended == failed && o.Cause == FailedByAbort
	}
	return s.fallsBack() || mayTakeSteps(s) && (s.Deployment.Annotations[stepsAnnotation] != "" || slices.ContainsFunc(s.ReplicaSets, isAtStep)) ||
		s.Deployment.ProgressDeadline != nil && !s.IsBackup && !s.Deployment.Deleting && slices.ContainsFunc(s.ReplicaSets, isAborted)
}

// named adds the note of what the last status calls complete, as if it was written.
func named(s *State) *State {
	status, known := &s.Deployment.Status, *s
	said := newConditions(s.Now, status.Conditions).get(appsv1.DeploymentProgressing)
	if said == nil || said.Reason != reasonComplete || status.AvailableReplicas == 0 || status.UpdatedReplicas != status.Replicas {
		return s
	}
	known.ReplicaSets = slices.Clone(s.ReplicaSets)
	slices.SortFunc(known.ReplicaSets, byAge)
	greatest, last := int64(0), int64(0)
	for _, rs := range s.ReplicaSets {
		o := outcomeOf(rs)
		if greatest = max(greatest, o.Order); o.Ended != "" { // a step that began since is no news
			last = max(last, o.Order)
		}
	}
	for i, rs := range known.ReplicaSets {
		if o := outcomeOf(rs); strings.Contains(said.Message, strconv.Quote(rs.Name)) && (o.Ended != completed || o.Order < last) {
			rs = new(*rs)
			rs.Annotations = maps.Clone(rs.Annotations)
			noted(rs, outcome{UID: rs.UID, Ended: completed, Order: greatest + 1})
			known.ReplicaSets[i] = rs
		}
	}
	return &known
}

// standOf finds out where the present rollout stands.
func standOf(s *State) stand {
	d := s.Deployment
	st := stand{present: d.NewReplicaSet(s.ReplicaSets), last: latestCompleted(s), end: lastEnd(s), most: unlimited}
	if st.last == nil || !mayTakeSteps(s) || !remembers(s) {
		st.isFree = st.last == nil
		return st
	}
	st.isRestart = st.last.Bare == bareOf(s)
	hasCompleted := func(rs *ReplicaSet) bool {
		return outcomeOf(rs).Ended == completed && (rs == st.present || rs.Bare == bareOf(s) && !st.isRestart)
	}
	if st.isFree = isFailed(s) && !st.isTriedAgain(s) || slices.ContainsFunc(s.ReplicaSets, hasCompleted); st.isFree {
		return st
	}
	st.isNoted = st.end.Ended == "" && st.end.Step != "" && st.end.Order > outcomeOf(st.last).Order
	list, whom := d.Annotations[stepsAnnotation], d.Annotations[stepsForAnnotation]
	switch steps := listed(list); {
	case st.isNoted && st.end.Step != none:
		st.step = st.end.Step
	case !st.isNoted && (list == "" || whom == forReleases && st.isRestart || whom == forRestarts && !st.isRestart):
		return st
	case steps != nil:
		st.step = steps[0]
	default:
		st.step = none
	}
	if most := sizeAt(st.step, d.Replicas); most < d.Replicas {
		st.most = most
	}
	return st
}

// next is the step that follows, by the list of the Deployment.
func (st *stand) next(d *Deployment) string {
	for _, step := range listed(d.Annotations[stepsAnnotation]) {
		if sizeAt(step, d.Replicas) > st.most {
			return step
		}
	}
	return every
}

// isWhole reports whether the rollout has come as far as its step allows, with all pods of the step available.
func (st *stand) isWhole() bool {
	return st.present != nil && st.present.Replicas == st.most && (st.most == 0 || st.present.Observed && st.present.Available >= st.most)
}

// said returns what the status says about the step at which the rollout waits, nil if it does not say that it waits.
func said(s *State) *appsv1.DeploymentCondition {
	conditions := newConditions(s.Now, s.Deployment.Status.Conditions)
	c, progressing := conditions.get(conditionAtStep), conditions.get(appsv1.DeploymentProgressing)
	if c == nil || progressing == nil || progressing.Reason != reasonPaused || progressing.Message != c.Message {
		return nil
	}
	return c
}

// isNamed reports whether a name is that of a ReplicaSet of the present rollout.
func (st *stand) isNamed(s *State, name string) bool {
	return slices.ContainsFunc(s.ReplicaSets, func(rs *ReplicaSet) bool {
		isEarlier := st.last != nil && isOfRelease(s, rs) && outcomeOf(rs).Order > outcomeOf(st.last).Order
		return rs.Name == name && rs != st.last && (rs == st.present || isEarlier)
	})
}

// permits returns the step to which the rollout may go on, empty if it may not, and whether a person has permitted it.
func (st *stand) permits(s *State) (step string, isPromoted bool) {
	d := s.Deployment
	asked := d.Annotations[promoteAnnotation]
	parts := append(strings.SplitN(asked, "/", 3), "", "")
	isReadable := d.Annotations[stepsAnnotation] == "" || listed(d.Annotations[stepsAnnotation]) != nil
	isPresent := cmp.Or(parts[2], "1") == fmt.Sprint(st.attempt(s)) && st.isNamed(s, parts[0])
	isNew := st.isNoted && isPresent && asked != st.end.Promoted && len(asked) <= longestPromotion
	isHeld := st.present != nil && st.present.Replicas == st.most && (said(s) != nil || st.end.Cause == FailedByAbort)
	isUsed := isNew && parts[1] == st.end.Step
	switch {
	case isNew && (parts[1] == "" || parts[1] == every):
		return every, true
	case isReadable && isNew && parts[1] == st.step && (st.isWhole() || isHeld):
		return st.next(d), isUsed
	case isReadable && st.isNoted && st.hasSoaked(s):
		return st.next(d), isUsed
	}
	return "", false
}

// hasSoaked reports whether the pods of the step have been available for the soak time, by the status, and a look since then proves it.
func (st *stand) hasSoaked(s *State) bool {
	soak, err := time.ParseDuration(s.Deployment.Annotations[soakAnnotation])
	c, look := said(s), s.Trial
	if err != nil || soak <= 0 || c == nil || c.Status != corev1.ConditionTrue || look == nil || !st.isWhole() || st.end.Cause == FailedByAbort {
		return false
	}
	isAtStep := strings.Contains(c.Message, "step "+st.step+",") || strings.Contains(c.Message, "("+st.step+")")
	isAboutIt := isAtStep && strings.Contains(c.Message, strconv.Quote(st.present.Name))
	over := c.LastTransitionTime.Add(soak)
	return isAboutIt && !over.After(s.Now) && !look.At.Before(over) && s.Now.Sub(look.At) <= firstLook+look.Took &&
		look.Of == st.present.UID && look.IsLast && look.Ready >= st.most && !look.Worst.IsBroken()
}

// attempt is which attempt at the present release is under way.
func (st *stand) attempt(s *State) int64 {
	attempt := max(1, st.end.Attempt)
	isOutrun := st.last != nil && st.end.Order < outcomeOf(st.last).Order
	if st.end.Ended == failed || st.end.Step != "" && isOutrun {
		attempt = st.end.Attempt + 1
	}
	if st.end.Ended == "" && st.end.Attempt > 0 && !isOutrun {
		return st.end.Attempt
	}
	return max(attempt, asked(s))
}

// isTriedAgain reports whether a person asks for another attempt at a release that has failed.
func (st *stand) isTriedAgain(s *State) bool {
	return st.end.Ended == failed && st.present != nil && asked(s) > st.end.Attempt
}

// asked is which attempt a person asks for, 0 if for none.
func asked(s *State) int64 {
	name, text, _ := strings.Cut(s.Deployment.Annotations[retryAnnotation], "/")
	attempt, err := strconv.ParseUint(text, 10, 30)
	if err != nil || !slices.ContainsFunc(s.ReplicaSets, func(rs *ReplicaSet) bool { return rs.Name == name && isOfRelease(s, rs) }) {
		return 0
	}
	return int64(attempt)
}

// isAborted reports whether a person aborts the present attempt.
func (st *stand) isAborted(s *State) bool {
	name, attempt, _ := strings.Cut(s.Deployment.Annotations[abortAnnotation], "/")
	return attempt == fmt.Sprint(st.attempt(s)) && st.isNamed(s, name)
}

// checkStep checks what a write notes about steps. The state is as before it.
func checkStep(t *rapid.T, s *State, a *UpdateReplicaSet, after outcome) {
	st := standOf(s)
	isAborted := after.Cause == FailedByAbort && st.end.Cause != FailedByAbort
	switch {
	case after.Ended != "" || after.Step == "":
	case st.present == nil || st.present.UID != a.Target.UID:
		t.Fatalf("an earlier ReplicaSet takes a step: %s", a)
	case st.isFree || !mayTakeSteps(s) || !st.isLimited():
		t.Fatalf("it takes no steps: %s", a)
	case isAborted && (!st.isRestart || !st.isAborted(s)):
		t.Fatalf("it is no restart, or nobody has aborted it: %s", a)
	default:
		step, promoted, attempt := st.step, st.end.Promoted, st.attempt(s)
		to, isPromoted := st.permits(s)
		if !st.isNoted || isAborted || isPromoted { // what it says now is used up
			if promoted = s.Deployment.Annotations[promoteAnnotation]; len(promoted) > longestPromotion {
				promoted = ""
			}
		}
		if !st.isNoted && attempt > 1 && strings.Count(promoted, "/") == 2 && strings.HasSuffix(promoted, fmt.Sprintf("/%d", attempt)) {
			promoted = "" // it is about the attempt that begins
		}
		isJoined := step == st.end.Step && outcomeOf(st.present) != st.end // a restart amid the rollout
		if to != "" && !isAborted {
			step = to
		}
		if !isAborted && st.isNoted && st.end.Cause == FailedByAbort && (to != "" || isJoined) {
			attempt++
		}
		if after.Step != step || after.Promoted != promoted || after.Attempt != attempt {
			t.Fatalf("attempt %d at step %q, having used %q, may go to attempt %d at %q, having used %q: %s",
				st.attempt(s), st.step, st.end.Promoted, attempt, step, promoted, a)
		}
	}
}

// checkSizeAtStep checks a size that a plan orders. The state is as after it.
func checkSizeAtStep(t *rapid.T, s *State, rs *ReplicaSet, from, to int64, scaling bool, action Action) {
	st := standOf(s)
	switch {
	case !st.isLimited():
	case rs.Sum == s.Deployment.Sum && to > from && to > st.most:
		t.Fatalf("step %q allows %d: %s", st.step, st.most, action)
	case rs.UID == st.last.UID && to < from && to < s.Deployment.Replicas-st.most && !scaling:
		t.Fatalf("the last one that completed has fewer than %d, at step %q: %s", s.Deployment.Replicas-st.most, st.step, action)
	}
}

// checkHeld checks that a status says that a rollout waits at a step only if it does. The state is as after the other writes.
func checkHeld(t *rapid.T, s *State, status *appsv1.DeploymentStatus) {
	conditions := newConditions(s.Now, status.Conditions)
	held, progressing, st := conditions.get(conditionAtStep), conditions.get(appsv1.DeploymentProgressing), standOf(s)
	if held == nil || held.Status != corev1.ConditionTrue || s.Deployment.Paused || s.Deployment.Deleting || s.Deployment.Invalid != nil {
		return
	}
	isFailed := st.end.Cause == FailedByAbort && progressing != nil &&
		progressing.Reason == ReasonTimedOut && progressing.Status == corev1.ConditionFalse
	switch {
	case !st.isLimited() || !st.isWhole():
		t.Fatalf("step %q allows %d, and it does not wait there: %s", st.step, st.most, held.Message)
	case progressing == nil || progressing.Message != held.Message,
		!isFailed && (progressing.Reason != reasonPaused || progressing.Status != corev1.ConditionUnknown):
		t.Fatalf("it waits at a step, and says %v", progressing)
	}
}

// isHeldRightly reports whether the present rollout has come as far as its step allows, the last one that completed has the other
// pods, and the status says so.
func isHeldRightly(s *State) bool {
	st := standOf(s)
	if !st.isLimited() || !st.isWhole() {
		return false
	}
	for _, rs := range s.ReplicaSets {
		if rs == st.last && rs.Replicas != s.Deployment.Replicas-st.most || rs != st.last && rs != st.present && rs.Replicas > 0 {
			return false
		}
	}
	held := newConditions(s.Now, s.Deployment.Status.Conditions).get(conditionAtStep)
	return held != nil && held.Status == corev1.ConditionTrue
}

func TestNoPlanDoesWhatMustNeverHappenAtAStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 10 { // of which few may go on
			s := drawn{T: t, wild: rapid.Bool().Draw(t, "wild")}.held()
			actions, _ := planned(t, s)
			checkReleases(t, s, actions)
			checkLimits(t, s, actions)
		}
	})
}

// Whatever else it asks for, a first rollout or a way back is planned as if nobody had asked for steps.
func TestAFirstRolloutAndAWayBackTakeNoSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn{T: t, wild: rapid.Bool().Draw(t, "wild")}.held()
		s.Deployment.Annotations[onFailureAnnotation] = fallBack
		if st := standOf(named(s)); !st.isFree || !mayTakeSteps(s) || s.Deployment.Annotations[stepsAnnotation] == "" {
			return
		}
		plain := *s
		plain.Deployment = new(*s.Deployment)
		plain.Deployment.Annotations = maps.Clone(s.Deployment.Annotations)
		plain.Deployment.Annotations[stepsAnnotation] = "100%"
		for _, key := range []string{promoteAnnotation, soakAnnotation, stepsForAnnotation} {
			delete(plain.Deployment.Annotations, key)
		}
		got, gotWake := planned(t, s)
		want, wantWake := planned(t, &plain)
		got, want = withoutCopies(got), withoutCopies(want)
		if dump.ForHash(got) != dump.ForHash(want) || !gotWake.Equal(wantWake) {
			t.Fatalf("with steps %v, wake %v\nwithout %v, wake %v", got, gotWake, want, wantWake)
		}
	})
}

// withoutCopies leaves out the annotations for steps that a ReplicaSet gets, and Events about these.
func withoutCopies(actions []Action) (rest []Action) {
	for _, action := range actions {
		switch a := action.(type) {
		case CreateReplicaSet:
			a.Annotations = withoutSteps(a.Annotations)
			rest = append(rest, a)
		case UpdateReplicaSet:
			a.Annotations = withoutSteps(a.Annotations)
			rest = append(rest, a)
		case RecordEvent:
			if a.Reason != reasonNoSteps {
				rest = append(rest, a)
			}
		default:
			rest = append(rest, action)
		}
	}
	return slices.DeleteFunc(rest, func(action Action) bool {
		a, isUpdate := action.(UpdateReplicaSet)
		return isUpdate && a.From == a.To && len(a.Annotations) == 0 && a.MinReadySeconds == nil
	})
}

func withoutSteps(annotations map[string]string) map[string]string {
	rest := maps.Clone(annotations)
	for _, key := range stepAnnotations {
		delete(rest, key)
	}
	return rest
}

// If all obey, a rollout goes as far as its step allows, and then to the end when it is promoted.
func TestAHeldRolloutThatIsPromotedCompletes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn{T: t}.held()
		d := s.Deployment
		d.Paused, s.Orphans = false, nil
		delete(d.Annotations, RollbackAnnotation)
		delete(d.Annotations, abortAnnotation)
		if !mayTakeSteps(s) {
			return
		}
		s = obeyed(t, s)
		if st := standOf(s); st.isLimited() {
			if !isHeldRightly(s) {
				t.Fatalf("it ends at step %q with %v of %d, and %v", st.step, sizesOf(s), d.Replicas, s.Deployment.Status.Conditions)
			}
			value := st.present.Name
			if attempt := st.attempt(s); attempt > 1 || value == st.end.Promoted {
				value += fmt.Sprintf("//%d", attempt)
			}
			s.Deployment.Annotations[promoteAnnotation] = value
			s = obeyed(t, s)
		}
		if p := newPlan(s); !p.isComplete() && !isWayBackTaken(s) {
			t.Fatalf("promoted, it ends with %v of %d", sizesOf(s), d.Replicas)
		}
	})
}

// obeyed carries out plans until only looks are left, while all obey.
func obeyed(t *rapid.T, s *State) *State {
	for steps, idle := 0, 0; idle < 5; steps++ {
		actions, wake := planned(t, s)
		checkReleases(t, s, actions)
		if steps > 0 {
			checkLimits(t, s, actions)
		}
		if steps > 150 {
			t.Fatalf("still after %d steps: %v", steps, actions)
		}
		if len(actions) == 0 && wake.IsZero() && steps > 0 {
			return s
		}
		idle++
		if slices.ContainsFunc(actions, isWrite) {
			idle = 0
		}
		s = carryOut(s, actions)
		obey(s)
		if len(actions) == 0 && wake.After(s.Now) {
			s.Now = wake
		}
	}
	return s
}
