package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

const (
	hugeKeys      = 40_000
	projections   = 2500
	containers    = 1000
	references    = 3000
	denyingPolicy = "soak-hostile"
)

// troubles returns every kind of them (docs/testing.md).
func (t *tenant) troubles() []trouble {
	return []trouble{
		{"huge config edited", 2 * time.Second, t.all(t.makeConfig("huge", hugeKeys)), t.editConfig("huge")},
		{"huge template edited", 2 * time.Second, t.all(t.makeDeployment("large", 0, manyMounts())), t.editTemplate("large")},
		{"record of many references removed", 2 * time.Second, t.all(t.makeConfig("many", references), t.makeDeployment("many", 2, manyVariables("many"))),
			t.all(t.editConfig("many"), t.removeRecord("many"))},
		{"config edited beside a broken revision", time.Second, t.all(t.makeConfig("plain", 1), t.makeStatefulSet("stateful"), t.makeBrokenRevision("stateful")),
			t.editConfig("plain")},
		{"config edited whose users are denied", time.Second, t.all(t.makePolicy("denied"), t.makeConfig("denied", 1), t.makeDeployment("denied", 1, reading("denied"))),
			t.editConfig("denied")},
		{"status written", 200 * time.Millisecond, t.all(t.makeConfig("written", 1), t.makeDeployment("written", 1, reading("written"))), t.writeStatus("written")},
	}
}

// all does one after another, each until it is done: a slow machine does not do very many within the time of one attempt. What
// is there already was made by an attempt before.
func (t *tenant) all(steps ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, step := range steps {
			if err := until(ctx, apierrors.IsAlreadyExists, step); err != nil {
				return err
			}
		}
		return nil
	}
}

func keyName(i int) string { return fmt.Sprintf("k%05d", i) }

func (t *tenant) makeConfig(name string, keys int) func(context.Context) error {
	return func(ctx context.Context) error {
		data := make(map[string]string, keys)
		for i := range keys {
			data[keyName(i)] = "v"
		}
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
		_, err := t.client.CoreV1().ConfigMaps(hostileNamespace).Create(ctx, config, metav1.CreateOptions{FieldManager: maker})
		return err
	}
}

// editConfig changes a key and adds one, each time in another name.
func (t *tenant) editConfig(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		value := t.value()
		patch, err := json.Marshal(map[string]any{"data": map[string]string{keyName(0): value, value: value}})
		if err != nil {
			return err
		}
		_, err = t.client.CoreV1().ConfigMaps(hostileNamespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "editor-" + value})
		return err
	}
}

// reading is a pod that reads all of a config.
func reading(config string) corev1.PodSpec {
	source := corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: config}}}
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example/main", EnvFrom: []corev1.EnvFromSource{source}}}}
}

// manyMounts is a pod with a thousand containers, each of which mounts 2,500 configs.
func manyMounts() (pod corev1.PodSpec) {
	sources := make([]corev1.VolumeProjection, projections)
	for i := range sources {
		sources[i].ConfigMap = &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprintf("config-%d", i)}}
	}
	pod.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}}}
	for i := range containers {
		pod.Containers = append(pod.Containers, corev1.Container{
			Name: fmt.Sprintf("c-%d", i), Image: "example/main", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}},
		})
	}
	return pod
}

// manyVariables is a pod that reads thousands of keys one by one.
func manyVariables(config string) corev1.PodSpec {
	variables := make([]corev1.EnvVar, references)
	for i := range variables {
		variables[i] = corev1.EnvVar{Name: fmt.Sprintf("V%d", i), ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: config}, Key: keyName(i), Optional: new(true),
		}}}
	}
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example/main", Env: variables}}}
}

func hostileMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}, Annotations: map[string]string{enabledAnnotation: enabled}}
}

func hostileTemplate(name string, pod corev1.PodSpec) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	labels := map[string]string{"app": name}
	pod.TerminationGracePeriodSeconds = new(int64(0))
	return &metav1.LabelSelector{MatchLabels: labels}, corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod}
}

func (t *tenant) makeDeployment(name string, replicas int32, pod corev1.PodSpec) func(context.Context) error {
	return func(ctx context.Context) error {
		d := &appsv1.Deployment{ObjectMeta: hostileMeta(name), Spec: appsv1.DeploymentSpec{Replicas: &replicas, RevisionHistoryLimit: new(int32(historyLimit))}}
		d.Spec.Selector, d.Spec.Template = hostileTemplate(name, pod)
		_, err := t.client.AppsV1().Deployments(hostileNamespace).Create(ctx, d, metav1.CreateOptions{FieldManager: maker})
		return err
	}
}

func (t *tenant) makeStatefulSet(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		s := &appsv1.StatefulSet{ObjectMeta: hostileMeta(name), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1)), ServiceName: name}}
		s.Spec.Selector, s.Spec.Template = hostileTemplate(name, reading("plain"))
		_, err := t.client.AppsV1().StatefulSets(hostileNamespace).Create(ctx, s, metav1.CreateOptions{FieldManager: maker})
		return err
	}
}

// makeBrokenRevision makes a ControllerRevision that has a StatefulSet's labels, belongs to another
// object, and has no pod template.
func (t *tenant) makeBrokenRevision(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		owner, err := t.client.CoreV1().ConfigMaps(hostileNamespace).Get(ctx, "plain", metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = t.client.AppsV1().ControllerRevisions(hostileNamespace).Create(ctx, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Name: "broken", Labels: map[string]string{"app": name},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
			},
			Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":"none"}}`)}, Revision: 1,
		}, metav1.CreateOptions{FieldManager: maker})
		return err
	}
}

// makePolicy denies what the controller writes to a Deployment, each time in other words.
func (t *tenant) makePolicy(deployment string) func(context.Context) error {
	rule := admissionv1.NamedRuleWithOperations{ResourceNames: []string{deployment}, RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
	}}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: denyingPolicy}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: hostileNamespace}},
			ResourceRules:     []admissionv1.NamedRuleWithOperations{rule},
		},
		Validations: []admissionv1.Validation{{
			Expression: fmt.Sprintf("request.userInfo.username != '%s'", t.account), Message: "denied",
			MessageExpression: fmt.Sprintf("'denied: ' + object.metadata.annotations['%s']", basisAnnotation),
		}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: denyingPolicy}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: denyingPolicy, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}}
	policies := t.client.AdmissionregistrationV1()
	return t.all(func(ctx context.Context) error {
		_, err := policies.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{})
		return err
	}, func(ctx context.Context) error {
		_, err := policies.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{})
		return err
	})
}

func (t *tenant) patchDeployment(ctx context.Context, name, manager string, patch []byte, subresources ...string) error {
	_, err := t.client.AppsV1().Deployments(hostileNamespace).Patch(ctx, name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldManager: manager}, subresources...)
	return err
}

func (t *tenant) editTemplate(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		patch := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":"c-0","image":"example/main:%s"}]}}}}`, t.value())
		return t.patchDeployment(ctx, name, "releaser", patch)
	}
}

func (t *tenant) removeRecord(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		return t.patchDeployment(ctx, name, "remover", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, checksumsAnnotation))
	}
}

// writeStatus does so each time in another name, as if there were another Deployment controller.
func (t *tenant) writeStatus(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		value := t.value()
		patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Busy","status":"True","message":%q}]}}`, value)
		return t.patchDeployment(ctx, name, "writer-"+value, patch, "status")
	}
}
