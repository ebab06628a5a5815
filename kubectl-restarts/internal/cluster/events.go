package cluster

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// Events lists the controller's Events of a namespace, or of all namespaces if it is empty, on the
// object of that kind and name, or on all objects if both are empty. Of custom kinds, the API spells the kind in
// another way, so Events on other objects of that name may be among them.
func (c *Cluster) Events(ctx context.Context, namespace, kind, name string) ([]facts.Event, error) {
	selectors := []string{"source=" + annotation.FieldManager}
	if kind != "" && !names.WorkloadKind(kind).IsCustom() {
		selectors = append(selectors, "involvedObject.kind="+kind)
	}
	if name != "" {
		selectors = append(selectors, "involvedObject.name="+name)
	}
	list := apiclient.List{Client: c.core.RESTClient(), Resource: "events", Namespace: namespace, FieldSelector: strings.Join(selectors, ",")}
	var events []facts.Event
	err := apiclient.EachPage(ctx, list, func() *corev1.EventList { return &corev1.EventList{} }, func() { events = nil },
		func(page *corev1.EventList) {
			for i := range page.Items {
				if e := &page.Items[i]; e.Source.Component == annotation.FieldManager || e.ReportingController == annotation.FieldManager {
					events = append(events, c.newEvent(e))
				}
			}
		})
	return events, err
}

func (c *Cluster) newEvent(e *corev1.Event) facts.Event {
	event := facts.Event{
		At: latest(e.LastTimestamp.Time, e.EventTime.Time, e.FirstTimestamp.Time), Type: e.Type, Reason: e.Reason, Message: e.Message, Count: e.Count, First: latest(e.FirstTimestamp.Time),
		Namespace: e.InvolvedObject.Namespace, On: c.kindOf(&e.InvolvedObject) + "/" + e.InvolvedObject.Name,
	}
	if e.Series != nil {
		event.At, event.Count = latest(event.At, e.Series.LastObservedTime.Time), max(event.Count, e.Series.Count)
	}
	return event
}

// kindOf returns the kind of an object as kubectl names it. A resource in the plural begins with its kind in the singular.
func (c *Cluster) kindOf(object *corev1.ObjectReference) string {
	kind := strings.ToLower(object.Kind)
	group, _, _ := strings.Cut(object.APIVersion, "/")
	for _, custom := range c.custom {
		if strings.HasPrefix(custom.Resource, kind) && string(custom.Kind) == custom.Resource+"."+group {
			return string(custom.Kind)
		}
	}
	return kind
}

// latest returns the last of the times that a clock can show, zero if there is none: whoever may write an Event may write any.
func latest(times ...time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) && !annotation.IsForged(t) {
			last = t
		}
	}
	return last
}
