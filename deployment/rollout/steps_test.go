package rollout

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/internal/origin"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

// The golden scripts play whole rollouts that take steps. The tests here are about what they do not reach.

// setting sets an annotation of the Deployment; empty removes it.
func setting(key, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		if d.Annotations[key] = value; value == "" {
			delete(d.Annotations, key)
		}
	}
}

func stepping(list string) func(*appsv1.Deployment)  { return setting(stepsAnnotation, list) }
func promoted(value string) func(*appsv1.Deployment) { return setting(promoteAnnotation, value) }
func aborted(value string) func(*appsv1.Deployment)  { return setting(abortAnnotation, value) }
func soaking(value string) func(*appsv1.Deployment)  { return setting(soakAnnotation, value) }

// restarted restarts the template.
func restarted(d *appsv1.Deployment) {
	d.Spec.Template.Annotations = map[string]string{origin.RestartedAt: "now"}
}

const threeSteps = "1, 25%, 50%"

// atFirst is a release of v2 with 8 pods at the first of three steps, with all pods of that step.
func atFirst(changes ...func(*appsv1.Deployment)) *State {
	changes = append([]func(*appsv1.Deployment){stepping(threeSteps), since("v2", 1000)}, changes...)
	return stateOf(web(8, "v2", changes...), complete(set("v1", 7, 7), 1), ended(set("v2", 1, 1), outcome{Order: 2, Attempt: 1, Step: "1"}))
}

// restartAtFirst is a restart of v1 there.
func restartAtFirst(changes ...func(*appsv1.Deployment)) *State {
	d := web(8, "v1", append([]func(*appsv1.Deployment){stepping(threeSteps), since("v2", 1000), restarted}, changes...)...)
	again := ended(set("v2", 1, 1), outcome{Order: 2, Attempt: 1, Step: "1"})
	again.Sum, again.Bare = d.Sum, set("v1", 0, 0).Bare
	return stateOf(d, complete(set("v1", 7, 7), 1), again)
}

// waiting lets the status say for some seconds that the rollout waits, and a look has just shown that all is well.
func waiting(s *State, seconds float64) *State {
	present := s.Deployment.NewReplicaSet(s.ReplicaSets)
	s.Trial = &Trial{Of: present.UID, Attempt: 1, Look: Look{At: s.Now, IsLast: true, Ready: present.Ready}}
	message := newPlan(s).holdMessage()
	s.Deployment.Status.Conditions = []appsv1.DeploymentCondition{
		condition(conditionAtStep, corev1.ConditionTrue, reasonRelease, message, 3600-seconds),
		condition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonPaused, message, 3600-seconds),
	}
	return s
}

// noteIn returns what a plan notes on the present ReplicaSet, the zero value for nothing, and how many pods that wants then.
func noteIn(s *State) (noted outcome, size int64) {
	present := s.Deployment.NewReplicaSet(s.ReplicaSets)
	actions, _ := Plan(s)
	for _, action := range actions {
		if a, isUpdate := action.(UpdateReplicaSet); isUpdate && a.Target.UID == present.UID {
			if size = a.To; a.Annotations[outcomeAnnotation] != "" {
				noted = (&member{ReplicaSet: present, changes: a.Annotations}).outcome()
			}
			return noted, size
		}
	}
	return outcome{}, present.Replicas
}

func TestAStepIsANumberOfPodsOrAPercentageRoundedUp(t *testing.T) {
	for _, test := range []struct {
		step           string
		replicas, want int64 // 0: it cannot be read
	}{
		{"1", 8, 1}, {"9", 8, 9}, {"007", 8, 7}, {"2147483647", 8, math.MaxInt32}, {"00000000001", 8, 1},
		{"25%", 8, 2}, {"25%", 3, 1}, {"26%", 8, 3}, {"1%", 8, 1}, {"1%", 0, 1}, {"100%", 8, 8},
		{"100%", math.MaxInt32, math.MaxInt32}, {"33%", math.MaxInt32, 708669604},
		{"all", 8, math.MaxInt32},
		{"", 8, 0}, {"%", 8, 0}, {"0%", 8, 0}, {"101%", 8, 0}, {"-1", 8, 0}, {"+1", 8, 0}, {" 1", 8, 0}, {"1 %", 8, 0}, {"1%%", 8, 0},
		{"1.5", 8, 0}, {"1e2", 8, 0},
		{"ALL", 8, 0}, {"2147483648", 8, 0}, {"000000000001", 8, 0}, {"١", 8, 0},
	} {
		size, ok := sizeOfStep(test.step, test.replicas)
		if ok != (test.want > 0) || ok && size != test.want {
			t.Errorf("%q of %d allows %d, %t; want %d", test.step, test.replicas, size, ok, test.want)
		}
	}
}

func TestAListOfStepsIsReadAsAWhole(t *testing.T) {
	long := strings.Repeat("1,", longestSteps/2-1) + "1"
	for list, test := range map[string]struct {
		want  []string
		wrong string
	}{
		"1":               {[]string{"1"}, ""},
		"1, 25%,\t50% ":   {[]string{"1", "25%", "50%"}, ""},
		"50%,1,1":         {[]string{"50%", "1", "1"}, ""},
		long:              {slices.Repeat([]string{"1"}, longestSteps/2), ""},
		long + "  ":       {nil, "a list of 257 bytes, which is longer than 256,"},
		"":                {nil, `""`},
		"1,":              {nil, `""`},
		"1,,2":            {nil, `""`},
		"1;2":             {nil, `"1;2"`},
		"1, two, x":       {nil, `"two"`},
		"1,0":             {nil, `"0"`},
		"1,all":           {nil, `"all"`},
		"1,\"\n":          {nil, `"\""`},
		"25%, 1000%, 50%": {nil, `"1000%"`},
	} {
		steps, wrong := stepsOf(list)
		expect(t, list, test.want, steps)
		expect(t, list, test.wrong, wrong)
	}
}

func TestTheNextStepIsTheFirstThatAllowsMorePods(t *testing.T) {
	for _, test := range []struct{ list, step, want string }{
		{threeSteps, "1", "25%"},
		{threeSteps, "25%", "50%"},
		{threeSteps, "50%", every},
		{"1, 25%", "50%", every},      // the list was edited
		{"3, 10%, 60%", "25%", "3"},   // so it was
		{"10%, 1, 2, 25%", "1", "2"},  // 10% are 1 pod
		{"1, 50%, 25%", "50%", every}, // not back
		{"1, 100%", "1", "100%"},      // which is the same as all
		{"", "1", every},
	} {
		s := atFirst(stepping(test.list))
		ended(s.ReplicaSets[1], outcome{Order: 2, Attempt: 1, Step: test.step})
		if got := newPlan(s).nextStep(); got != test.want {
			t.Errorf("after %s of %q: %q, want %q", test.step, test.list, got, test.want)
		}
	}
}

func TestOnlySomeRolloutsTakeSteps(t *testing.T) {
	for name, test := range map[string]struct {
		s    *State
		want bool
	}{
		"a release":                               {atFirst(), true},
		"a restart":                               {restartAtFirst(), true},
		"under Recreate":                          {atFirst(recreated), false},
		"without a deadline":                      {atFirst(func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = nil }), false},
		"as a backup":                             {changed(atFirst(), func(s *State) { s.IsBackup = true }), false},
		"of a Deployment that is being deleted":   {changed(atFirst(), func(s *State) { s.Deployment.Deleting = true }), false},
		"with as many pods as the step allows":    {changed(atFirst(), func(s *State) { s.Deployment.Replicas = 1 }), false},
		"without pods":                            {changed(atFirst(), func(s *State) { s.Deployment.Replicas = 0 }), false},
		"the first one":                           {changed(atFirst(), func(s *State) { delete(s.ReplicaSets[0].Annotations, outcomeAnnotation) }), false},
		"to what completed before":                {changed(atFirst(), func(s *State) { complete(s.ReplicaSets[1], 1); complete(s.ReplicaSets[0], 2) }), false},
		"that has failed":                         {changed(atFirst(asking), func(s *State) { broken(s.ReplicaSets[1], 2) }), false},
		"that was aborted":                        {changed(atFirst(), func(s *State) { broken(s.ReplicaSets[1], 2); abortedNote(s.ReplicaSets[1], 2) }), false},
		"that was promoted to the end":            {changed(atFirst(), func(s *State) { ended(s.ReplicaSets[1], outcome{Order: 2, Attempt: 1, Step: every}) }), false},
		"whose last ReplicaSet is being deleted":  {changed(atFirst(), func(s *State) { s.ReplicaSets[0].Deleting = true }), false},
		"with the steps of releases":              {unnoted(atFirst(setting(stepsForAnnotation, forReleases))), true},
		"with the steps of restarts":              {unnoted(atFirst(setting(stepsForAnnotation, forRestarts))), false},
		"a restart with the steps of releases":    {unnoted(restartAtFirst(setting(stepsForAnnotation, forReleases))), false},
		"a restart with the steps of restarts":    {unnoted(restartAtFirst(setting(stepsForAnnotation, forRestarts))), true},
		"with steps for nothing that is known":    {unnoted(atFirst(setting(stepsForAnnotation, "nothing"))), true},
		"at a step, with the steps of restarts":   {atFirst(setting(stepsForAnnotation, forRestarts)), true},
		"at a step, and steps were asked for":     {atFirst(stepping("")), true},
		"at a step before another one completed":  {changed(atFirst(stepping("")), func(s *State) { complete(s.ReplicaSets[0], 3) }), false},
		"amid a release at a step, as a restart":  {restartAmid(atFirst(restarted)), true},
		"the same, and steps were asked for":      {restartAmid(atFirst(restarted, stepping(""))), true},
		"a restart, and steps were asked for":     {restartAtFirst(stepping("")), true},
		"to what completed before, as a restart":  {restartedBack(1), false},
		"of what completed last, as one restarts": {restartedBack(3), true},
	} {
		if p := newPlan(test.s); p.isLimited() != test.want {
			t.Errorf("a rollout %s takes steps: %t", name, p.isLimited())
		}
	}
}

// changed changes a state.
func changed(s *State, change func(*State)) *State {
	change(s)
	return s
}

// unnoted is a state whose present rollout is not noted to be at a step.
func unnoted(s *State) *State {
	delete(s.ReplicaSets[1].Annotations, outcomeAnnotation)
	return s
}

// abortedNote notes that a person has aborted a release.
func abortedNote(rs *ReplicaSet, order int64) *ReplicaSet {
	return ended(rs, outcome{Ended: failed, Order: order, Attempt: 1, Cause: FailedByAbort, Why: "it was aborted"})
}

// restartAmid makes the present ReplicaSet of a state an earlier one of the same release.
func restartAmid(s *State) *State {
	s.ReplicaSets[1].Bare = web(8, "v2").Bare
	return s
}

// restartedBack is a restart of v1, which completed at that order, while v2 completed as the second.
func restartedBack(order int64) *State {
	d := web(8, "v1", stepping(threeSteps), since("v3", 1000), restarted)
	return stateOf(d, complete(set("v1", 0, 0), order), complete(set("v2", 8, 8), 2))
}

func TestAPromotionNamesAReplicaSetOfTheRolloutAndTheStepThatEnds(t *testing.T) {
	second := func(s *State) { ended(s.ReplicaSets[1], outcome{Order: 2, Attempt: 2, Step: "1"}) }
	for name, test := range map[string]struct {
		s    *State
		want string // the step that is noted, empty for none
	}{
		"the step":                                 {atFirst(promoted("web-v2/1")), "25%"},
		"the step of the attempt":                  {atFirst(promoted("web-v2/1/1")), "25%"},
		"the step of another attempt":              {atFirst(promoted("web-v2/1/2")), ""},
		"the ReplicaSet":                           {atFirst(promoted("web-v2")), every},
		"no step":                                  {atFirst(promoted("web-v2/")), every},
		"all steps":                                {atFirst(promoted("web-v2/all")), every},
		"all steps of the attempt":                 {atFirst(promoted("web-v2//1")), every},
		"all steps of another attempt":             {atFirst(promoted("web-v2//2")), ""},
		"no attempt":                               {atFirst(promoted("web-v2/1/x")), ""},
		"the step, at the second attempt":          {changed(atFirst(promoted("web-v2/1")), second), ""},
		"the ReplicaSet, at the second attempt":    {changed(atFirst(promoted("web-v2")), second), ""},
		"the second attempt":                       {changed(atFirst(promoted("web-v2/1/2")), second), "25%"},
		"all steps of the second attempt":          {changed(atFirst(promoted("web-v2//2")), second), every},
		"a later step":                             {atFirst(promoted("web-v2/25%")), ""},
		"the step as it is not written":            {atFirst(promoted("web-v2/01")), ""},
		"no step that is known":                    {atFirst(promoted("web-v2/x")), ""},
		"with a blank":                             {atFirst(promoted("web-v2/ 1")), ""},
		"what completed before":                    {atFirst(promoted("web-v1/1")), ""},
		"what is not there":                        {atFirst(promoted("web-v3/1")), ""},
		"no ReplicaSet":                            {atFirst(promoted("/1")), ""},
		"nothing":                                  {atFirst(promoted("")), ""},
		"what began with that value":               {begunWith(atFirst(promoted("web-v2/1")), "web-v2/1"), ""},
		"what began with that for all":             {begunWith(atFirst(promoted("web-v2")), "web-v2"), ""},
		"what began with another value":            {begunWith(atFirst(promoted("web-v2/1/1")), "web-v2/1"), "25%"},
		"a step that cannot go on":                 {atFirst(promoted("web-v2/1"), stepping("1,x")), ""},
		"the ReplicaSet of such a one":             {atFirst(promoted("web-v2"), stepping("1,x")), every},
		"a step that is not asked for any more":    {atFirst(promoted("web-v2/1"), stepping("")), every},
		"the step of a restart":                    {restartAtFirst(promoted("web-v2/1")), "25%"},
		"what the restart restarts":                {restartAtFirst(promoted("web-v1/1")), ""},
		"a paused one":                             {atFirst(promoted("web-v2/1"), paused), ""},
		"a step that was never whole":              {changed(atFirst(promoted("web-v2/1")), func(s *State) { s.ReplicaSets[1].Available = 0 }), ""},
		"the ReplicaSet of such a step":            {changed(atFirst(promoted("web-v2")), func(s *State) { s.ReplicaSets[1].Available = 0 }), every},
		"a step whose pods are not yet made":       {changed(atFirst(promoted("web-v2/1")), func(s *State) { s.ReplicaSets[1].Replicas = 0 }), ""},
		"a rollout that has not begun":             {unnoted(atFirst(promoted("web-v2"))), "1"},
		"one that has not begun, before its limit": {unnoted(changed(atFirst(promoted("web-v2/1")), func(s *State) { s.ReplicaSets[1].Replicas = 0 })), "1"},
		"one that cannot begin":                    {unnoted(atFirst(promoted("web-v2"), stepping("x"))), none},
		"a failed one that is tried again":         {changed(atFirst(promoted("web-v2"), retrying("web-v2/2")), func(s *State) { abortedNote(s.ReplicaSets[1], 2) }), "1"},
		"one at all steps before another completed": {changed(atFirst(promoted("web-v2")), func(s *State) {
			ended(s.ReplicaSets[1], outcome{Order: 2, Attempt: 1, Step: every})
			complete(s.ReplicaSets[0], 3)
		}), "1"},
	} {
		if noted, _ := noteIn(test.s); noted.Step != test.want {
			t.Errorf("a promotion of %s: %+v, want the step %q", name, noted, test.want)
		}
	}
}

// begunWith notes what a promotion said when the rollout began.
func begunWith(s *State, promotion string) *State {
	ended(s.ReplicaSets[1], outcome{Order: 2, Attempt: 1, Step: "1", Promoted: promotion})
	return s
}

func TestWhatAPromotionSaidIsUsedUp(t *testing.T) {
	for name, test := range map[string]struct {
		s    *State
		want string
	}{
		"it begins":          {unnoted(atFirst(promoted("web-v2/1"))), "web-v2/1"},
		"it goes on":         {atFirst(promoted("web-v2/1")), "web-v2/1"},
		"it is aborted":      {restartAtFirst(promoted("web-v2/25%"), aborted("web-v2/1")), "web-v2/25%"},
		"it goes on by soak": {waiting(begunWith(atFirst(promoted("web-v2/50%"), soaking("10m")), "x"), 600), "x"},
		"it is too long":     {unnoted(atFirst(promoted(strings.Repeat("x", longestPromotion+1)))), ""},
	} {
		if noted, _ := noteIn(test.s); noted.Step == "" || noted.Promoted != test.want {
			t.Errorf("%s: %+v, want %q", name, noted, test.want)
		}
	}
}

func TestAStepGoesOnByItselfOnceItsPodsHaveBeenAvailableAndALookProvesIt(t *testing.T) {
	soaks := func(seconds float64, changes ...func(*appsv1.Deployment)) *State {
		return waiting(atFirst(append([]func(*appsv1.Deployment){soaking("10m")}, changes...)...), seconds)
	}
	look := func(change func(*Trial)) *State { return changed(soaks(700), func(s *State) { change(s.Trial) }) }
	said := func(change func(atStep, progressing *appsv1.DeploymentCondition)) *State {
		return changed(soaks(700), func(s *State) { change(&s.Deployment.Status.Conditions[0], &s.Deployment.Status.Conditions[1]) })
	}
	another := strings.NewReplacer("step 1 of 3 (1)", "step 0 of 3 (2)").Replace
	for name, test := range map[string]struct {
		s    *State
		want bool
	}{
		"for the time":                  {soaks(600), true},
		"for longer":                    {soaks(36000), true},
		"for less":                      {soaks(599), false},
		"in a paused rollout":           {soaks(700, paused), false},
		"with no soak":                  {soaks(700, soaking("")), false},
		"with a manual soak":            {soaks(700, soaking(manual)), false},
		"with a soak that is no time":   {soaks(700, soaking("10 minutes")), false},
		"with a soak of nothing":        {soaks(700, soaking("0s")), false},
		"with a soak that is negative":  {soaks(700, soaking("-10m")), false},
		"with a list that is wrong":     {soaks(700, stepping("1,x")), false},
		"of a restart":                  {waiting(restartAtFirst(soaking("10m")), 600), true},
		"of an aborted restart":         {waiting(abortedRestart(soaking("10m")), 600), false},
		"without a look":                {changed(soaks(700), func(s *State) { s.Trial = nil }), false},
		"with a look that is too old":   {look(func(t *Trial) { t.At = now.Add(-16 * time.Second) }), false},
		"with one that took long":       {look(func(t *Trial) { t.At, t.Took = now.Add(-16*time.Second), 10*time.Second }), true},
		"with one before the time":      {changed(soaks(600), func(s *State) { s.Trial.At = now.Add(-time.Second) }), false},
		"with one for another purpose":  {look(func(t *Trial) { t.IsLast = false }), false},
		"with one at fewer ready pods":  {look(func(t *Trial) { t.Ready = 0 }), false},
		"with one at another attempt":   {look(func(t *Trial) { t.Attempt = 2 }), false},
		"with one at another release":   {look(func(t *Trial) { t.Of = "uid-of-another" }), false},
		"with a pod that is broken":     {look(func(t *Trial) { t.Worst = sight(podsight.Broken, "CrashLoopBackOff", 0) }), false},
		"with a pod that hangs":         {look(func(t *Trial) { t.Worst = sight(podsight.Hanging, "it hangs", 0) }), true},
		"with a pod that is missing":    {changed(soaks(700), func(s *State) { s.ReplicaSets[1].Available = 0 }), false},
		"with a ReplicaSet in flux":     {changed(soaks(700), func(s *State) { s.ReplicaSets[1].Observed = false }), false},
		"with too few pods of before":   {changed(soaks(700), func(s *State) { s.ReplicaSets[0].Available = 5 }), true},
		"with a status that denies it":  {said(func(a, _ *appsv1.DeploymentCondition) { a.Status = corev1.ConditionFalse }), false},
		"with another's status":         {said(func(_, p *appsv1.DeploymentCondition) { p.Reason, p.Message = reasonProgressed, "" }), false},
		"with a status that is paused":  {said(func(_, p *appsv1.DeploymentCondition) { p.Message = "Deployment is paused" }), false},
		"by the status of another step": {said(func(a, p *appsv1.DeploymentCondition) { a.Message = another(a.Message); p.Message = a.Message }), false},
	} {
		noted, size := noteIn(test.s)
		if goesOn := noted.Step == "25%" && size == 2; goesOn != test.want || !goesOn && (noted.Step != "" || size != 1) {
			t.Errorf("it goes on %s: %t, with %+v and %d pods", name, goesOn, noted, size)
		}
	}
}

// abortedRestart is a restart that waits, and was aborted.
func abortedRestart(changes ...func(*appsv1.Deployment)) *State {
	s := restartAtFirst(append([]func(*appsv1.Deployment){aborted("web-v2/1")}, changes...)...)
	ended(s.ReplicaSets[1], outcome{Order: 2, Attempt: 1, Step: "1", Cause: FailedByAbort})
	return s
}

func TestASoakThatIsOverAsksForALookAndBeforeThatForATime(t *testing.T) {
	s := waiting(atFirst(soaking("10m")), 590)
	if _, wake := Plan(s); !wake.Equal(now.Add(10 * time.Second)) {
		t.Errorf("it waits until %s", wake)
	}
	s = waiting(atFirst(soaking("10m")), 600)
	s.Trial.At = now.Add(-time.Minute)
	actions, _ := Plan(s)
	if look, isLook := actions[len(actions)-1].(LookAtPods); !isLook || !look.IsLast || look.Target.Name != "web-v2" {
		t.Errorf("orders %v", actions)
	}
}

// The status says since when all pods of a step are available.
func TestASoakBeginsAgainWhenAPodIsNotAvailable(t *testing.T) {
	s := waiting(atFirst(soaking("10m")), 500)
	plan := func(later time.Duration, available int64) *appsv1.DeploymentCondition {
		s.Now = s.Now.Add(later)
		s.ReplicaSets[1].Available, s.ReplicaSets[1].Ready, s.Trial.Ready, s.Trial.At = available, available, available, s.Now
		actions, _ := Plan(s)
		s = carryOut(s, actions)
		s.Trial = &Trial{Of: s.ReplicaSets[1].UID, Attempt: 1}
		return newConditions(s.Now, s.Deployment.Status.Conditions).get(conditionAtStep)
	}
	if c := plan(50*time.Second, 0); c == nil || c.Status != corev1.ConditionFalse {
		t.Errorf("a pod is not available: %+v", c)
	}
	if c := plan(time.Second, 1); c == nil || c.Status != corev1.ConditionTrue || !c.LastTransitionTime.Time.Equal(s.Now) {
		t.Errorf("it is again: %+v", c)
	}
	if noted, _ := noteIn(changed(s, func(s *State) {
		s.Now = s.Now.Add(599 * time.Second)
		s.Trial = &Trial{Of: s.ReplicaSets[1].UID, Attempt: 1, Look: Look{At: s.Now, IsLast: true, Ready: 1}}
	})); noted.Step != "" {
		t.Errorf("it goes on too early: %+v", noted)
	}
}

func TestTheMessageSaysWhereARolloutWaitsAndHowItGoesOn(t *testing.T) {
	const promote, abort = "set the annotation com.xing.deployment-restart.promote to web-v2/1", "; to abort it, com.xing.deployment-restart.abort to web-v2/1."
	const alone = " To abort it, set the annotation com.xing.deployment-restart.abort to web-v2/1."
	for name, test := range map[string]struct {
		s    *State
		want string
	}{
		"a release": {atFirst(), `The release waits at step 1 of 3 (1), with 1 of 8 pods of ReplicaSet "web-v2". To go on, ` + promote + abort},
		"a restart": {restartAtFirst(), `The restart waits at step 1 of 3 (1), with 1 of 8 pods of ReplicaSet "web-v2". To go on, ` + promote + abort},
		"a step that is not in the list": {
			atFirst(stepping("50%")), `The release waits at step 1, with 1 of 8 pods of ReplicaSet "web-v2". To go on, ` + promote + abort,
		},
		"a list that is wrong": {
			atFirst(stepping("1,two,x")), `The release waits at step 1, with 1 of 8 pods of ReplicaSet "web-v2". ` +
				`It cannot go on: "two" in the annotation com.xing.deployment-restart.steps is neither a number of pods nor a percentage.` + alone,
		},
		"a list that is too long": {
			atFirst(stepping(strings.Repeat("1,", 200) + "1")), `The release waits at step 1, with 1 of 8 pods of ReplicaSet "web-v2". ` +
				`It cannot go on: a list of 401 bytes, which is longer than 256, in the annotation com.xing.deployment-restart.steps ` +
				`is neither a number of pods nor a percentage.` + alone,
		},
		"no step": {
			changed(unnoted(atFirst(stepping("0"))), func(s *State) { stateOf(s.Deployment, set("v1", 8, 8), set("v2", 0, 0)) }),
			`The release waits at no step, with 1 of 8 pods of ReplicaSet "web-v2". ` +
				`It cannot go on: "0" in the annotation com.xing.deployment-restart.steps is neither a number of pods nor a percentage.` + alone,
		},
		"a pod that is not available": {
			changed(atFirst(), func(s *State) { s.ReplicaSets[1].Available = 0 }),
			`The release waits at step 1 of 3 (1), with 1 of 8 pods of ReplicaSet "web-v2", of which 1 are not available. To go on, ` + promote + abort,
		},
		"a soak": {
			atFirst(soaking("90s")), `The release waits at step 1 of 3 (1), with 1 of 8 pods of ReplicaSet "web-v2". ` +
				`It goes on when they have been available for 1m30s. To go on before, ` + promote + abort,
		},
		"a soak that cannot be read": {
			atFirst(soaking("90")), `The release waits at step 1 of 3 (1), with 1 of 8 pods of ReplicaSet "web-v2". To go on, ` + promote + abort +
				` The annotation com.xing.deployment-restart.step-soak is neither manual nor a duration such as 10m.`,
		},
		"a broken pod": {
			changed(waiting(atFirst(soaking("90s")), 0), func(s *State) { s.Trial.Worst = sight(podsight.Broken, "CrashLoopBackOff", 0) }),
			`The release waits at step 1 of 3 (1), with 1 of 8 pods of ReplicaSet "web-v2". ` +
				`It does not go on by itself: container app of pod web-v2-0: CrashLoopBackOff. To go on all the same, ` + promote + abort,
		},
		"an aborted restart": {
			abortedRestart(), `The restart waits at step 1 of 3 (1), with 1 of 8 pods of ReplicaSet "web-v2". ` +
				`It was aborted. Roll back, or, to go on all the same, ` + promote + ".",
		},
		"a value that is from before": {
			begunWith(atFirst(), "web-v2/1"), `The release waits at step 1 of 3 (1), with 1 of 8 pods of ReplicaSet "web-v2". To go on, ` + promote + "/1" + abort,
		},
		"a second attempt": {
			changed(atFirst(), func(s *State) { ended(s.ReplicaSets[1], outcome{Order: 2, Attempt: 2, Step: "1"}) }),
			`The release waits at step 1 of 3 (1), with 1 of 8 pods of ReplicaSet "web-v2". To go on, ` + promote + "/2" + strings.Replace(abort, "v2/1", "v2/2", 1),
		},
	} {
		expect(t, name, test.want, newPlan(test.s).holdMessage())
	}
}

// What the message asks for is a permission.
func TestThePromotionThatTheMessageAsksForCounts(t *testing.T) {
	for name, s := range map[string]*State{
		"for the first time": atFirst(),
		"from before":        begunWith(atFirst(promoted("web-v2/1")), "web-v2/1"),
		"aborted": changed(abortedRestart(promoted("web-v2/1")), func(s *State) {
			ended(s.ReplicaSets[1], outcome{Order: 2, Attempt: 1, Step: "1", Cause: FailedByAbort, Promoted: "web-v2/1"})
		}),
		"at the second attempt": changed(atFirst(promoted("web-v2/1")), func(s *State) { ended(s.ReplicaSets[1], outcome{Order: 2, Attempt: 2, Step: "1"}) }),
	} {
		_, rest, _ := strings.Cut(newPlan(s).holdMessage(), promoteAnnotation+" to ")
		value := strings.TrimRight(strings.SplitN(rest, ";", 2)[0], ".")
		s.Deployment.Annotations[promoteAnnotation] = value
		if noted, _ := noteIn(s); noted.Step != "25%" {
			t.Errorf("%s: %s: %+v", name, value, noted)
		}
	}
}

// killedAt carries out some of what is planned, and another engine goes on until there is nothing to write.
func killedAt(t *testing.T, s *State, done int) *State {
	actions, _ := Plan(s)
	s = carryOut(s, actions[:min(done, len(actions))])
	s.Trial, s.Created = nil, ""
	for idle := 0; idle < 2; idle++ {
		p := newPlan(s)
		if most := p.most(); p.isLimited() && p.newRS != nil && p.newRS.Replicas > most {
			t.Errorf("killed after %d of %v: %d pods at step %s", done, actions, p.newRS.Replicas, p.release.hold.step)
		}
		next, _ := Plan(s)
		if slices.ContainsFunc(next, isWrite) {
			idle = 0
		}
		s = carryOut(s, next)
		obey(s)
		s.Now = s.Now.Add(100 * time.Millisecond)
	}
	return s
}

func TestAKilledEngineLosesNoStepAndGrantsNone(t *testing.T) {
	isComplete := func(d *appsv1.Deployment) {
		progressedBy(reasonComplete, "v1", 1000)(d)
		d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = 8, 8, 8
	}
	for name, test := range map[string]struct {
		begin func() *State
		step  string
		size  int64
	}{
		"it begins": {func() *State { return stateOf(web(8, "v2", stepping(threeSteps), isComplete), set("v1", 8, 8)) }, "1", 1},
		"it begins, no surge": {func() *State {
			return stateOf(web(8, "v2", stepping("2"), withLimits("0", "4"), isComplete), set("v1", 8, 8))
		}, "2", 2},
		"it is promoted": {func() *State { return waiting(atFirst(promoted("web-v2/1")), 10) }, "25%", 2},
		"it is scaled": {func() *State {
			return changed(waiting(atFirst(), 10), func(s *State) { s.Deployment.Replicas = 16 })
		}, "1", 1},
		"it is promoted and scaled": {func() *State {
			return changed(waiting(atFirst(promoted("web-v2/1")), 10), func(s *State) { s.Deployment.Replicas = 16 })
		}, "25%", 4},
		"a restart of it": {func() *State { return restartAmid(atFirst(restarted)) }, "1", 1},
	} {
		for done := range 6 {
			s := killedAt(t, test.begin(), done)
			st := standOf(s)
			if st.step != test.step || st.present == nil || st.present.Replicas != test.size || !isHeldRightly(s) {
				t.Errorf("%s, killed after %d: step %q, sizes %v, %v", name, done, st.step, sizesOf(s), s.Deployment.Status.Conditions)
			}
		}
	}
}

// A status that was not written must not let the pods of a step soak for the time of the one before.
func TestAKilledEngineDoesNotShortenASoak(t *testing.T) {
	for done := range 4 {
		s := waiting(atFirst(soaking("10m")), 600)
		actions, _ := Plan(s)
		s = carryOut(s, actions[:min(done, len(actions))])
		obey(s)
		s.Trial = nil
		for range 20 {
			actions, _ = Plan(s)
			s = carryOut(s, actions)
			obey(s)
			s.Now = s.Now.Add(time.Second)
		}
		if end := lastEnd(s); end.Step != "25%" {
			t.Errorf("killed after %d, it is at %+v", done, end)
		}
	}
}

func TestAnEditOfTheAnnotationsChangesNoStep(t *testing.T) {
	for name, edit := range map[string]func(*appsv1.Deployment){
		"no steps":         stepping(""),
		"larger steps":     stepping("50%"),
		"smaller steps":    stepping("1,2"),
		"unreadable steps": stepping("x"),
		"for restarts":     setting(stepsForAnnotation, forRestarts),
		"to fall back":     asking,
		"a stale abort":    aborted("web-v2/2"),
		"an abort of none": aborted("web-v2"),
		"of what was":      aborted("web-v1/1"),
	} {
		noted, size := noteIn(atFirst(edit))
		if noted.Step != "" || noted.Ended != "" || size != 1 {
			t.Errorf("%s: %+v, %d pods", name, noted, size)
		}
		for _, order := range orders(waiting(atFirst(edit), 10)) {
			if strings.HasPrefix(order, "scale") || strings.HasPrefix(order, "create") {
				t.Errorf("%s: %s", name, order)
			}
		}
	}
}

func TestAnAbortMakesAReleaseFailButNotARestart(t *testing.T) {
	failedAt := func(order int64) outcome {
		return outcome{Ended: failed, Order: order, Attempt: 1, Cause: FailedByAbort, Why: "it was aborted"}
	}
	atLast := func(s *State) { ended(s.ReplicaSets[1], outcome{Order: 2, Attempt: 1, Step: every}) }
	for name, test := range map[string]struct {
		s    *State
		want outcome
	}{
		"a release":               {atFirst(aborted("web-v2/1")), failedAt(3)},
		"one without steps":       {unnoted(atFirst(asking, stepping(""), aborted("web-v2/1"))), failedAt(2)},
		"one at its last step":    {changed(atFirst(aborted("web-v2/1")), atLast), failedAt(3)},
		"another attempt":         {atFirst(aborted("web-v2/2")), outcome{}},
		"no attempt":              {atFirst(aborted("web-v2")), outcome{}},
		"an odd attempt":          {atFirst(aborted("web-v2/01")), outcome{}},
		"what completed":          {atFirst(aborted("web-v1/1")), outcome{}},
		"a paused release":        {atFirst(aborted("web-v2/1"), paused), outcome{}},
		"a first rollout":         {changed(atFirst(aborted("web-v2/1")), func(s *State) { s.ReplicaSets = s.ReplicaSets[1:] }), outcome{}},
		"a restart":               {restartAtFirst(aborted("web-v2/1")), outcome{Order: 3, Attempt: 1, Step: "1", Cause: FailedByAbort}},
		"a restart, steps undone": {restartAtFirst(aborted("web-v2/1"), stepping("")), outcome{Order: 3, Attempt: 1, Step: "1", Cause: FailedByAbort}},
		"an aborted restart":      {abortedRestart(), outcome{}},
		"a promoted restart":      {abortedRestart(promoted("web-v2/1")), outcome{Order: 3, Attempt: 2, Step: "25%", Promoted: "web-v2/1"}},
		"a restart before this one": {changed(restartAtFirst(aborted("web-v3/1")), func(s *State) {
			earlier := ended(set("v3", 0, 0), outcome{Order: 2, Attempt: 1, Step: "1", Cause: FailedByAbort})
			earlier.Bare = s.ReplicaSets[0].Bare
			complete(s.ReplicaSets[0], 3)
			s.ReplicaSets = append(s.ReplicaSets, earlier)
			ended(s.ReplicaSets[1], outcome{Order: 4, Attempt: 1, Step: "1"})
		}), outcome{}},
	} {
		if test.want != (outcome{}) {
			test.want.UID = "uid-of-web-v2"
		}
		noted, _ := noteIn(test.s)
		expect(t, name, test.want, noted)
	}
}

func TestAnAbortedRestartWaitsAndSaysThatItFailed(t *testing.T) {
	s := abortedRestart()
	actions, _ := Plan(s)
	s = carryOut(s, actions)
	c := progressing(s)
	if c.Status != corev1.ConditionFalse || c.Reason != ReasonTimedOut || !strings.Contains(c.Message, "It was aborted.") {
		t.Errorf("%+v", c)
	}
	if sizes := sizesOf(s); sizes["web-v1"] != 7 || sizes["web-v2"] != 1 {
		t.Errorf("sizes %v", sizes)
	}
}

// Steps that were taken away do not make what a person has aborted roll out.
func TestWhatIsAbortedDoesNotRollOutWithoutSteps(t *testing.T) {
	s := atFirst(stepping(""), aborted("web-v2/1"))
	for range 20 {
		actions, _ := Plan(s)
		s = carryOut(s, actions)
		obey(s)
		s.Now = s.Now.Add(time.Second)
	}
	expect(t, "sizes", map[string]int64{"web-v1": 8, "web-v2": 0}, sizesOf(s))
}

func TestAListThatCannotBeReadHoldsAReleaseWithoutPods(t *testing.T) {
	begin := func(list string) *State {
		return stateOf(web(8, "v2", stepping(list), since("v2", 10)), complete(set("v1", 8, 8), 1), set("v2", 0, 0))
	}
	s := begin("x")
	noted, size := noteIn(s)
	if noted.Step != none || size != 0 {
		t.Errorf("%+v, %d pods", noted, size)
	}
	s = begin("2, 50%")
	ended(s.ReplicaSets[1], outcome{Order: 2, Attempt: 1, Step: none, Promoted: "web-v2"})
	s.Deployment.Annotations[promoteAnnotation] = "web-v2"
	if noted, size = noteIn(s); noted.Step != "2" || noted.Promoted != "web-v2" || size != 2 {
		t.Errorf("once it can be read: %+v, %d pods", noted, size)
	}
}

// A Deployment is scaled although its new ReplicaSet cannot be created.
func TestARolloutThatCannotBeginIsScaled(t *testing.T) {
	d := web(8, "v2", stepping("1"), since("v1", 10))
	s := stateOf(d, complete(set("v1", 4, 4, sized("4", "5")), 1))
	s.Creation = CreationFailure{Name: replicaSetNameOf(d), Message: "no quota", IsReported: true}
	actions, _ := Plan(s)
	if s = carryOut(s, actions); sizesOf(s)["web-v1"] < 7 {
		t.Errorf("sizes %v after %v", sizesOf(s), actions)
	}
}

// A way back stays one until it is noted that it has completed, whatever the history limit says.
func TestAWayBackDoesNotBecomeAReleaseInTheEnd(t *testing.T) {
	s := restartedBack(1)
	s.Deployment.HistoryLimit = new(int32(1))
	for range 30 {
		if actions, _ := Plan(s); newPlan(s).isLimited() {
			t.Fatalf("a step limits it: %v", actions)
		} else {
			s = carryOut(s, actions)
		}
		obey(s)
		s.Now = s.Now.Add(time.Second)
	}
	if end := lastEnd(s); end.Ended != completed {
		t.Errorf("it ends as %+v with %v", end, sizesOf(s))
	}
}

// Somebody has scaled the ReplicaSets by hand.
func TestARolloutThatAStepLimitsDoesNotComplete(t *testing.T) {
	s := atFirst()
	s.ReplicaSets = []*ReplicaSet{complete(set("v1", 0, 0), 1), ended(set("v2", 8, 8), outcome{Order: 2, Attempt: 1, Step: "1"})}
	stateOf(s.Deployment, s.ReplicaSets...)
	s.Trial = &Trial{Of: s.ReplicaSets[1].UID, Attempt: 1, Look: Look{At: now, IsLast: true, Ready: 8}}
	if noted, _ := noteIn(s); noted.Ended == completed {
		t.Errorf("%+v, with %v", noted, orders(s))
	}
}

func TestAnOutcomeWithAStepThatTheEngineDidNotWriteSaysNothing(t *testing.T) {
	long := strings.Repeat("<", longestPromotion)
	for name, test := range map[string]struct {
		o    outcome
		want bool
	}{
		"a step":                 {outcome{Order: 1, Step: "25%"}, true},
		"the longest step":       {outcome{Order: 1, Step: strings.Repeat("0", longestStep-1) + "1"}, true},
		"too long a step":        {outcome{Order: 1, Step: strings.Repeat("0", longestStep) + "1"}, false},
		"the longest promotion":  {outcome{Order: math.MaxInt32 - 1, Attempt: math.MaxInt32 - 1, Step: "25%", Cause: FailedByAbort, Promoted: long}, true},
		"too long a promotion":   {outcome{Order: 1, Step: "25%", Promoted: long + "x"}, false},
		"no step, all the same":  {outcome{Order: 1, Step: none}, true},
		"a step for all":         {outcome{Order: 1, Step: every}, true},
		"a step that is no step": {outcome{Order: 1, Step: "x"}, false},
	} {
		rs := set("v1", 0, 0)
		rs.UID = "01234567-89ab-cdef-0123-456789abcdef"
		ended(rs, test.o)
		if test.o.UID = rs.UID; !test.want {
			test.o = outcome{}
		}
		expect(t, name, test.o, (&member{ReplicaSet: rs}).outcome())
	}
}

func TestAnUndoNeitherTakesStepsAwayNorBringsPermissions(t *testing.T) {
	wanted := map[string]string{
		stepsAnnotation: threeSteps, soakAnnotation: "10m", stepsForAnnotation: forAll, promoteAnnotation: "web-v2/1", abortAnnotation: "web-v2/1",
	}
	source := set("v1", 0, 0)
	source.SetAnnotations(maps.Clone(source.Annotations))
	d := web(8, "v2", func(d *appsv1.Deployment) { maps.Copy(d.Annotations, wanted) }, setting(RollbackAnnotation, "1"))
	actions, _ := Plan(stateOf(d, source, set("v2", 8, 8)))
	back, isBack := actions[len(actions)-2].(RollBack)
	if !isBack || len(back.Annotations) > 0 || len(back.Remove) != 1 {
		t.Errorf("%+v", actions)
	}
	// Nor do those of the ReplicaSet come back.
	all := maps.Clone(wanted)
	maps.Copy(all, source.Annotations)
	source.SetAnnotations(all)
	actions, _ = Plan(stateOf(web(8, "v2", setting(RollbackAnnotation, "1")), source, set("v2", 8, 8)))
	if back, isBack = actions[len(actions)-2].(RollBack); !isBack || len(back.Annotations) > 0 {
		t.Errorf("%+v", actions)
	}
	for _, key := range []string{promoteAnnotation, abortAnnotation, outcomeAnnotation} {
		if IsCopied(key) {
			t.Errorf("%s goes to ReplicaSets", key)
		}
	}
}

func TestStepsThatCannotBeKeptAreReportedWhenARolloutBegins(t *testing.T) {
	const prefix = "event Warning StepsNotKept: The annotation com.xing.deployment-restart.steps"
	const useless = prefix + " has no effect: "
	const whole = "the deployment engine stands by for another controller, which would finish the rollout at once."
	recreates := func(s *State) { s.Deployment.Strategy, s.ReplicaSets = appsv1.RecreateDeploymentStrategyType, nil }
	isOdd := func(s *State) { s.Deployment.Annotations[stepsForAnnotation] = "x" }
	for name, test := range map[string]struct {
		change func(*State)
		want   string
	}{
		"kept":                      {func(*State) {}, ""},
		"under Recreate":            {recreates, useless + "only the strategy RollingUpdate can take steps."},
		"without a deadline":        {func(s *State) { s.Deployment.ProgressDeadline = nil }, useless + "the Deployment has no progressDeadlineSeconds."},
		"as a backup":               {func(s *State) { s.IsBackup = true }, useless + whole},
		"for nothing that is known": {isOdd, prefix + "-for is none of releases, restarts and all, so all rollouts take steps."},
	} {
		s := stateOf(web(8, "v2", stepping(threeSteps), since("v1", 10)), complete(set("v1", 8, 8), 1))
		test.change(s)
		got := ""
		for _, order := range orders(s) {
			if strings.Contains(order, "StepsNotKept") {
				got += order
			}
		}
		expect(t, name, test.want, got)
	}
}

func TestAStepNeverTakesEarlierPodsBeyondThoseThatItReplaces(t *testing.T) {
	for _, limits := range [][2]string{{"0", "100%"}, {"1", "50%"}, {"100%", "0"}, {"25%", "25%"}} {
		for most := range int64(8) {
			s := stateOf(web(8, "v2", stepping(fmt.Sprint(most+1)), withLimits(limits[0], limits[1]), since("v1", 10)), complete(set("v1", 8, 8), 1))
			for range 20 {
				actions, _ := Plan(s)
				s = carryOut(s, actions)
				if sizes := sizesOf(s); most+1 < 8 && sizes["web-v1"] < 8-most-1 {
					t.Fatalf("surge %s, unavailable %s, step %d: %v", limits[0], limits[1], most+1, sizes)
				}
				obey(s)
				s.Now = s.Now.Add(time.Second)
			}
		}
	}
}
