package deployment

import (
	"encoding/json"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/origin"
)

func TestPatchesCarryTheirVersionAndNothingElse(t *testing.T) {
	d := web(3, "v2")
	rs := set("v1", 3, 3).Meta
	stamp := metav1.Time{Time: time.Date(2026, time.March, 1, 13, 0, 0, 0, time.UTC)}
	emptyStatus := `"status":{"observedGeneration":0,"replicas":0,"updatedReplicas":0,"readyReplicas":0,` +
		`"availableReplicas":0,"unavailableReplicas":0,"terminatingReplicas":null,"conditions":null,"collisionCount":null}}`
	for name, test := range map[string]struct {
		encode func() ([]byte, error)
		want   string
	}{
		"a size": {
			func() ([]byte, error) {
				return updatePatch(&rollout.UpdateReplicaSet{Target: rs, From: 3, To: 2, Annotations: map[string]string{desiredReplicasAnnotation: "3"}})
			},
			`{"metadata":{"resourceVersion":"11","annotations":{"deployment.kubernetes.io/desired-replicas":"3"}},"spec":{"replicas":2}}`,
		},
		"none at all": {
			func() ([]byte, error) { return updatePatch(&rollout.UpdateReplicaSet{Target: rs, From: 3, To: 0}) },
			`{"metadata":{"resourceVersion":"11"},"spec":{"replicas":0}}`,
		},
		"more than there can be": {
			func() ([]byte, error) {
				return updatePatch(&rollout.UpdateReplicaSet{Target: rs, From: 3, To: 1 << 40})
			},
			`{"metadata":{"resourceVersion":"11"},"spec":{"replicas":2147483647}}`,
		},
		"only annotations": {
			func() ([]byte, error) {
				return updatePatch(&rollout.UpdateReplicaSet{Target: rs, From: 3, To: 3, Annotations: map[string]string{"a": "b"}})
			},
			`{"metadata":{"resourceVersion":"11","annotations":{"a":"b"}},"spec":{}}`,
		},
		"only a time": {
			func() ([]byte, error) {
				return updatePatch(&rollout.UpdateReplicaSet{Target: rs, From: 3, To: 3, MinReadySeconds: new(int32(0))})
			},
			`{"metadata":{"resourceVersion":"11"},"spec":{"minReadySeconds":0}}`,
		},
		"an empty status": {
			func() ([]byte, error) { return statusPatch(&d.Meta, &rollout.UpdateStatus{}, nil) },
			`{"metadata":{"resourceVersion":"100"},` + emptyStatus,
		},
		"a status": {
			func() ([]byte, error) {
				return statusPatch(&d.Meta, &rollout.UpdateStatus{Revision: "7", Status: appsv1.DeploymentStatus{
					ObservedGeneration: 2, Replicas: 6, UpdatedReplicas: 5, ReadyReplicas: 4, AvailableReplicas: 3, UnavailableReplicas: 2,
					TerminatingReplicas: new(int32(1)), CollisionCount: new(int32(8)), Conditions: []appsv1.DeploymentCondition{{
						Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "R", Message: "m", LastUpdateTime: stamp, LastTransitionTime: stamp,
					}},
				}}, nil)
			},
			`{"metadata":{"resourceVersion":"100","annotations":{"deployment.kubernetes.io/revision":"7"}},"status":{"observedGeneration":2,"replicas":6,` +
				`"updatedReplicas":5,"readyReplicas":4,"availableReplicas":3,"unavailableReplicas":2,"terminatingReplicas":1,"conditions":[{"type":"Available",` +
				`"status":"True","lastUpdateTime":"2026-03-01T13:00:00Z","lastTransitionTime":"2026-03-01T13:00:00Z","reason":"R","message":"m"}],"collisionCount":8}}`,
		},
		"a status that says what runs": {
			func() ([]byte, error) { return statusPatch(&d.Meta, &rollout.UpdateStatus{Runs: &rs}, new("uid {}")) },
			`{"metadata":{"resourceVersion":"100","annotations":{"com.xing.deployment-restart.runs":"uid {}"}},` + emptyStatus,
		},
		"a status of the present template": {
			func() ([]byte, error) {
				return statusPatch(&d.Meta, &rollout.UpdateStatus{Runs: &rollout.Meta{}}, nil)
			},
			`{"metadata":{"resourceVersion":"100","annotations":{"com.xing.deployment-restart.runs":null}},` + emptyStatus,
		},
		"an adoption": {
			func() ([]byte, error) { return adoptPatch(d, &rs) },
			`{"metadata":{"resourceVersion":"11","uid":"uid-of-web-v1","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web",` +
				`"uid":"uid-of-web","controller":true,"blockOwnerDeletion":true}]}}`,
		},
		"a release": {
			func() ([]byte, error) { return releasePatch(d, &rs) },
			`{"metadata":{"resourceVersion":"11","uid":"uid-of-web-v1","ownerReferences":[{"$patch":"delete","uid":"uid-of-web"}]}}`,
		},
		"a rollback": {
			func() ([]byte, error) {
				return rollbackPatch(&d.Meta, &rollout.RollBack{
					Annotations: map[string]string{"b/~": "2", "a": "1"}, Remove: []string{rollout.RollbackAnnotation, "x~y"},
				}, map[string]any{"spec": map[string]any{"unknown": json.Number("9007199254740993")}})
			},
			`[{"op":"replace","path":"/metadata/resourceVersion","value":"100"},` +
				`{"op":"replace","path":"/spec/template","value":{"spec":{"unknown":9007199254740993}}},` +
				`{"op":"remove","path":"/metadata/annotations/deprecated.deployment.rollback.to"},` +
				`{"op":"remove","path":"/metadata/annotations/x~0y"},` +
				`{"op":"add","path":"/metadata/annotations/a","value":"1"},` +
				`{"op":"add","path":"/metadata/annotations/b~1~0","value":"2"}]`,
		},
		"an annotation that becomes empty": {
			func() ([]byte, error) {
				return rollbackPatch(&d.Meta, &rollout.RollBack{Annotations: map[string]string{"a": ""}}, map[string]any{})
			},
			`[{"op":"replace","path":"/metadata/resourceVersion","value":"100"},` +
				`{"op":"replace","path":"/spec/template","value":{}},` +
				`{"op":"add","path":"/metadata/annotations/a","value":""}]`,
		},
		"the end of a rollback": {
			func() ([]byte, error) { return endRollbackPatch(&d.Meta) },
			`[{"op":"replace","path":"/metadata/resourceVersion","value":"100"},` +
				`{"op":"remove","path":"/metadata/annotations/deprecated.deployment.rollback.to"}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := test.encode()
			if err != nil {
				t.Fatal(err)
			}
			expect(t, "body", test.want, string(body))
		})
	}
}

// A field that a version of the API adds to the status would never be cleared.
func TestTheStatusPatchNamesEveryField(t *testing.T) {
	empty, err := statusPatch(&rollout.Meta{}, &rollout.UpdateStatus{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	full := appsv1.DeploymentStatus{
		ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, UnavailableReplicas: 1,
		TerminatingReplicas: new(int32(1)), Conditions: []appsv1.DeploymentCondition{{}}, CollisionCount: new(int32(1)),
	}
	var patch struct{ Status map[string]any }
	if err := json.Unmarshal(empty, &patch); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(encoded, &fields); err != nil {
		t.Fatal(err)
	}
	for field := range fields {
		if _, named := patch.Status[field]; !named {
			t.Errorf("%s is not named", field)
		}
	}
	if len(fields) != len(patch.Status) {
		t.Errorf("%d fields, of which %d are named", len(fields), len(patch.Status))
	}
}

func TestANewReplicaSetIsCreatedCompletely(t *testing.T) {
	d := deploymentObject(3, "v1", func(d *appsv1.Deployment) {
		d.Spec.MinReadySeconds = 5
		d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}
	})
	d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "helm", Time: &metav1.Time{Time: noon}, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:template":{}}}`)}}
	before := templateOf("v0")
	before.Labels = map[string]string{"app": "web", rollout.HashLabel: "v0"}
	got := newReplicaSet(d, &before, &rollout.CreateReplicaSet{Name: "web-6c5f", Hash: "6c5f", Replicas: 2, Annotations: map[string]string{"a": "b"}})
	labels := map[string]string{"app": "web", rollout.HashLabel: "6c5f"}
	template := templateOf("v1")
	template.Labels = labels
	expect(t, "replicaset", &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web-6c5f", Labels: labels,
			Annotations: map[string]string{"a": "b", origin.Annotation: `{"of":"web-6c5f","manager":"helm","changes":["image of app: v0 to v1"]}`},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "uid-of-web", Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(2)), MinReadySeconds: 5,
			Selector: &metav1.LabelSelector{
				MatchLabels:      labels,
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}},
			},
			Template: template,
		},
	}, got)
	if _, marked := d.Spec.Template.Labels[rollout.HashLabel]; marked || len(d.Spec.Selector.MatchLabels) != 1 {
		t.Error("the deployment was modified")
	}
}

func TestASelectorOfExpressionsOnlyGetsTheHash(t *testing.T) {
	d := deploymentObject(3, "v1", func(d *appsv1.Deployment) {
		d.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}
		d.Spec.Template.Labels = nil
	})
	got := newReplicaSet(d, nil, &rollout.CreateReplicaSet{Name: "web-6c5f", Hash: "6c5f"})
	want := map[string]string{rollout.HashLabel: "6c5f"}
	expect(t, "selector", want, got.Spec.Selector.MatchLabels)
	expect(t, "labels", want, got.Labels)
}
