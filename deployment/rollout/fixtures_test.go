package rollout

import (
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// noon is when the Deployments of these tests were made.
var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// noonPlus is a time some seconds after noon.
func noonPlus(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// now is when the states of these tests are observed.
var now = noonPlus(3600)

// templateOf returns a small pod template. Its image distinguishes it from others.
func templateOf(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image}}},
	}
}

// deploymentObject is a Deployment with the API's defaults: 25 % may surge and be
// unavailable.
func deploymentObject(replicas int32, image string, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web", UID: "uid-of-web", ResourceVersion: "100", Generation: 2,
			CreationTimestamp: metav1.Time{Time: noon},
			Annotations:       map[string]string{},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas:                &replicas,
			Selector:                &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template:                templateOf(image),
			Strategy:                rolling("25%", "25%"),
			RevisionHistoryLimit:    new(int32(10)),
			ProgressDeadlineSeconds: new(int32(600)),
		},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 2},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

// web is that Deployment as plans see it.
func web(replicas int32, image string, changes ...func(*appsv1.Deployment)) *Deployment {
	return NewDeployment(deploymentObject(replicas, image, changes...))
}

// rolling is a rolling update. Its limits are numbers or percentages; an empty one
// is absent.
func rolling(surge, unavailable string) appsv1.DeploymentStrategy {
	return appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: limit(surge), MaxUnavailable: limit(unavailable)},
	}
}

func limit(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	value := intstr.Parse(text)
	return &value
}

func withLimits(surge, unavailable string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Strategy = rolling(surge, unavailable) }
}

func recreated(d *appsv1.Deployment) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

func paused(d *appsv1.Deployment) { d.Spec.Paused = true }

func annotated(annotations map[string]string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Annotations = annotations }
}

func withHistoryLimit(limit int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = &limit }
}

// withStatus gives the status that was written last, and the revision that was
// written with it.
func withStatus(status appsv1.DeploymentStatus) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status = status
		d.Annotations[RevisionAnnotation] = strings.TrimPrefix(d.Spec.Template.Spec.Containers[0].Image, "v")
	}
}

// condition is one that was set some seconds after noon.
func condition(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string, since float64) appsv1.DeploymentCondition {
	stamp := metav1.Time{Time: noonPlus(since)}
	return appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason, Message: message, LastUpdateTime: stamp, LastTransitionTime: stamp}
}

// set is a ReplicaSet of the Deployment web, with the template of an image "v1",
// "v2" and so on. The number is its revision and its age. All pods that it wants
// exist.
func set(image string, wanted, available int64, changes ...func(*ReplicaSet)) *ReplicaSet {
	number, err := strconv.Atoi(strings.TrimPrefix(image, "v"))
	if err != nil {
		panic(err)
	}
	template := templateOf(image)
	rs := &ReplicaSet{
		Meta: Meta{
			Namespace: "ns", Name: "web-" + image, UID: types.UID("uid-of-web-" + image),
			ResourceVersion: strconv.Itoa(10 + number),
		},
		Created:        noonPlus(float64(number)),
		Labels:         map[string]string{"app": "web", HashLabel: image},
		Annotations:    map[string]string{RevisionAnnotation: strconv.Itoa(number)},
		Controller:     "uid-of-web",
		ControllerName: "web",
		Sum:            sumTemplate(&template),
		Replicas:       wanted,
		Observed:       true,
		Existing:       wanted,
		Ready:          available,
		Available:      available,
		Terminating:    new(int32(0)),
	}
	for _, change := range changes {
		change(rs)
	}
	return rs
}

// sized tells what a ReplicaSet's size was computed from. Empty stands for absent.
func sized(desired, maximum string) func(*ReplicaSet) {
	return func(rs *ReplicaSet) {
		rs.Annotations[desiredReplicasAnnotation], rs.Annotations[maxReplicasAnnotation] = desired, maximum
	}
}

// stateOf returns a State. The sizes of its ReplicaSets were computed from the
// present Deployment, unless their annotations say otherwise.
func stateOf(d *Deployment, sets ...*ReplicaSet) *State {
	for _, rs := range sets {
		for key, value := range d.sizeAnnotations() {
			if _, found := rs.Annotations[key]; !found {
				rs.Annotations[key] = value
			}
		}
		maps.DeleteFunc(rs.Annotations, func(_, value string) bool { return value == "" })
	}
	return &State{Now: now, Deployment: d, ReplicaSets: sets, Pods: map[types.UID]int{}}
}

// orders are the actions of a plan in words, the status aside.
func orders(s *State) []string {
	actions, _ := Plan(s)
	words := []string{}
	for _, action := range actions {
		if _, isStatus := action.(UpdateStatus); !isStatus {
			words = append(words, action.String())
		}
	}
	return words
}

// statusOf returns the status that a plan writes, or nil if the plan does not
// write a status.
func statusOf(s *State) *appsv1.DeploymentStatus {
	actions, _ := Plan(s)
	for _, action := range actions {
		if update, isStatus := action.(UpdateStatus); isStatus {
			return &update.Status
		}
	}
	return nil
}

// progressing is the condition of that name which a plan writes or leaves.
func progressing(s *State) *appsv1.DeploymentCondition {
	return conditionOf(s, appsv1.DeploymentProgressing)
}

func conditionOf(s *State, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	status := statusOf(s)
	if status == nil {
		status = &s.Deployment.Status
	}
	return newConditions(s.Now, status.Conditions).get(kind)
}

// expect compares whole values.
func expect(t *testing.T, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
