package custom

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	catalogtemplate "kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Parts returns the parts of an object, which may share its memory, or its problem, with the pod template if only
// something else is wrong.
func (k Kind) Parts(o *Object) workload.Parts {
	parts, err := k.parts(o)
	if err != nil {
		return workload.Parts{Meta: &o.ObjectMeta, Template: parts.Template, Problem: err.Error()}
	}
	return parts
}

// Outline returns parts of an object that show whether it is enabled, or is meant to be: of its pod template, annotations and
// labels. The problem is that nothing else has been read.
func (k Kind) Outline(o *Object) workload.Parts {
	outline := workload.Parts{Meta: &o.ObjectMeta, Problem: "it has not been read"}
	if _, err := o.CheckSize(); err != nil {
		return outline
	}
	metadata := read[fields](read[fields](open(o).at(k.Path))["metadata"])
	outline.Template = &corev1.PodTemplateSpec{}
	outline.Template.Annotations = read[map[string]string](metadata["annotations"])
	outline.Template.Labels = read[map[string]string](metadata["labels"])
	return outline
}

func (k Kind) parts(object *Object) (workload.Parts, error) {
	parts, preset := workload.Parts{Meta: &object.ObjectMeta}, k.preset()
	if object.Namespace == "" {
		return parts, errors.New("it is in no namespace")
	}
	if _, err := object.CheckSize(); err != nil {
		return parts, err
	}
	o := open(object)
	if preset != nil && preset.refuse != nil {
		if err := preset.refuse(o); err != nil {
			return parts, err
		}
	}
	var err error
	if parts.Template, err = k.template(o); err != nil {
		return parts, err
	}
	if parts.Selector, err = readSelector(o); err != nil {
		return parts, err
	}
	parts.Rollout = workload.Rollout{
		ByPods: true, Wanted: wanted(read[*int32](o.spec["replicas"])),
		Deadline: workload.ReplacementTime(read[int32](o.spec["minReadySeconds"]), parts.Template),
	}
	if read[bool](o.spec["paused"]) {
		parts.Hold = workload.Paused
	}
	if preset != nil {
		preset.read(o, &parts)
	}
	parts.Idle = parts.Rollout.Wanted == 0
	return parts, nil
}

// wanted returns how many pods a workload wants, which is one if it does not say.
func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return max(*replicas, 0)
}

// template reads the pod template of an object.
func (k Kind) template(o *opened) (*corev1.PodTemplateSpec, error) {
	part := o.at(k.Path)
	if part == nil {
		return nil, fmt.Errorf("it has no pod template at %s", k.PathText())
	}
	if err := catalogtemplate.CheckQuantities(part); err != nil {
		return nil, fmt.Errorf("%s is not a pod template: %w", k.PathText(), err)
	}
	template, err := decode[corev1.PodTemplateSpec](part)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s is not a pod template: %w", k.PathText(), err)
	case len(template.Spec.Containers) == 0:
		return nil, fmt.Errorf("%s is not a pod template: it has no containers", k.PathText())
	}
	if err := checkNames(&template.Spec); err != nil {
		return nil, fmt.Errorf("%s is not a pod template: %w", k.PathText(), err)
	}
	return &template, nil
}

// readSelector reads how an object selects its pods: as a label selector, as a map of labels, or as the text that its
// status has for the API's scale.
func readSelector(o *opened) (*metav1.LabelSelector, error) {
	part := o.at([]string{"spec", "selector"})
	if part == nil {
		return readTextSelector(o)
	}
	if labels := read[map[string]string](part); len(labels) > 0 { // the members of a label selector are no texts
		return checked(&metav1.LabelSelector{MatchLabels: labels})
	}
	selector, err := decode[metav1.LabelSelector](part)
	if err != nil {
		return nil, fmt.Errorf("its .spec.selector is not a label selector: %w", err)
	}
	return checked(&selector)
}

func readTextSelector(o *opened) (*metav1.LabelSelector, error) {
	status := read[fields](o.Status)
	for _, name := range []string{"selector", "labelSelector"} {
		if text := read[string](status[name]); text != "" {
			selector, err := metav1.ParseToLabelSelector(text)
			if err != nil {
				return nil, fmt.Errorf("its .status.%s is not a label selector", name)
			}
			return checked(selector)
		}
	}
	return nil, errors.New("it does not say which pods are its own: it has no .spec.selector")
}

// checked returns a selector that can be used. One that selects all pods of the namespace would take those of others
// for the workload's own.
func checked(selector *metav1.LabelSelector) (*metav1.LabelSelector, error) {
	if problem := workload.SelectorProblem(selector); problem != "" {
		return nil, errors.New(problem)
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	switch {
	case err != nil:
		return nil, errors.New("its .spec.selector is no valid label selector")
	case parsed.Empty():
		return nil, errors.New("its .spec.selector selects all pods of the namespace")
	}
	return selector, nil
}
