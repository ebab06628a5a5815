package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// rollout is one that is not complete.
type rollout struct {
	workload metav1.Object
	text     string
}

func (s *soak) unfinishedRollouts(ctx context.Context) (unfinished []rollout, err error) {
	check := func(kind string, object metav1.Object, observed bool, want int32, counts ...int32) {
		complete := observed
		for _, count := range counts {
			complete = complete && count == want
		}
		if !complete && strings.HasPrefix(object.GetNamespace(), "soak-") {
			unfinished = append(unfinished, rollout{object, fmt.Sprintf("%s %s/%s (observed %t, %d wanted, has %v)",
				kind, object.GetNamespace(), object.GetName(), observed, want, counts)})
		}
	}
	apps := s.cluster.Client().AppsV1()
	deployments, err1 := apps.Deployments("").List(ctx, metav1.ListOptions{})
	sets, err2 := apps.StatefulSets("").List(ctx, metav1.ListOptions{})
	daemons, err3 := apps.DaemonSets("").List(ctx, metav1.ListOptions{})
	all, err4 := listGadgets(ctx, s.objects)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	for _, g := range all {
		isRun := slices.ContainsFunc(deployments.Items, func(d appsv1.Deployment) bool { return g.isRunBy(&d) })
		check(gadgetKind, g, isRun, 0)
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		check("Deployment", d, d.Status.ObservedGeneration >= d.Generation, *d.Spec.Replicas,
			d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas)
	}
	for i := range sets.Items {
		d := &sets.Items[i]
		isUpdated := d.Status.CurrentRevision == d.Status.UpdateRevision || *d.Spec.Replicas == 0
		check("StatefulSet", d, d.Status.ObservedGeneration >= d.Generation && isUpdated, *d.Spec.Replicas,
			d.Status.Replicas, d.Status.AvailableReplicas)
	}
	for i := range daemons.Items {
		d := &daemons.Items[i]
		check("DaemonSet", d, d.Status.ObservedGeneration >= d.Generation && d.Status.DesiredNumberScheduled > 0, d.Status.DesiredNumberScheduled,
			d.Status.CurrentNumberScheduled, d.Status.UpdatedNumberScheduled, d.Status.NumberAvailable)
	}
	return unfinished, nil
}

func textsOf(rollouts []rollout) string {
	var texts []string
	for _, r := range rollouts {
		texts = append(texts, r.text)
	}
	return strings.Join(texts, "; ")
}

// unfinishedPods describes pods that do not run or do not terminate, which shows whether the
// cluster itself does not come to rest.
func (s *soak) unfinishedPods(ctx context.Context) string {
	list, err := s.cluster.Client().CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var pods []string
	for i := range list.Items {
		if pod := &list.Items[i]; unfinished(pod) {
			pods = append(pods, fmt.Sprintf("%s/%s (%s, node %q, deleted %v)", pod.Namespace, pod.Name, pod.Status.Phase, pod.Spec.NodeName, pod.DeletionTimestamp))
		}
	}
	return fmt.Sprintf("%d of %d pods do not run: %s", len(pods), len(list.Items), strings.Join(pods[:min(8, len(pods))], "; "))
}

// unrest shows the first rollout that is not complete: its workload, and the revisions, pods
// and Events whose names begin as its own, in JSON, and what the logs of the cluster and the audit log have about it.
// The cluster is gone afterwards.
func (s *soak) unrest(ctx context.Context) string {
	client := s.cluster.Client()
	rollouts, err := s.unfinishedRollouts(ctx)
	if err != nil || len(rollouts) == 0 {
		return fmt.Sprint("nothing is under way any more ", err)
	}
	first := rollouts[0].workload
	namespace, name := first.GetNamespace(), first.GetName()
	shown := []any{first}
	show := func(object metav1.Object, about string) {
		if about == name || strings.HasPrefix(about, name+"-") {
			shown = append(shown, object)
		}
	}
	pods, err1 := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	revisions, err2 := client.AppsV1().ControllerRevisions(namespace).List(ctx, metav1.ListOptions{})
	events, err3 := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err := errors.Join(err1, err2, err3); err != nil {
		return err.Error()
	}
	for i := range pods.Items {
		show(&pods.Items[i], pods.Items[i].Name)
	}
	for i := range revisions.Items {
		show(&revisions.Items[i], revisions.Items[i].Name)
	}
	for i := range events.Items {
		show(&events.Items[i], events.Items[i].InvolvedObject.Name)
	}
	var text strings.Builder
	for _, object := range shown {
		encoded, err := json.Marshal(object)
		fmt.Fprintf(&text, "\n%s %v", encoded, err)
	}
	for _, component := range []string{harness.ControllerManager, harness.KWOK} {
		log, err := s.cluster.ComponentLog(component)
		if err != nil {
			log = err.Error()
		}
		fmt.Fprintf(&text, "\nthe log of %s about it:\n%s", component, lastAbout(log, name))
	}
	audit, err := os.ReadFile(filepath.Join(s.directory, auditLog))
	if err != nil {
		audit = []byte(err.Error())
	}
	fmt.Fprintf(&text, "\nwhat was written to it and its pods:\n%s", lastAbout(string(audit), name))
	return text.String()
}

// lastAbout returns the last lines of a log that contain a name.
func lastAbout(log, name string) string {
	const shownLines = 30
	var lines []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, name) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-shownLines):], "")
}
