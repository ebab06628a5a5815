package main

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestTheWholeCrowdReadsTheKeyThatBecomesBadAndNothingElse(t *testing.T) {
	c := newCrowd()
	if readers := c.readersOf("data/" + theKey); len(readers) != crowdSize {
		t.Errorf("%d of %d read the key", len(readers), crowdSize)
	}
	kinds := map[string]bool{}
	for _, reader := range c.readers {
		kinds[reader.kind] = true
		if seen := reader.uses[0].model(); len(reader.uses) != 1 || len(seen.Keys) != 1 {
			t.Errorf("%s reads %v", reader.name, seen.Keys)
		}
	}
	if len(kinds) != 3 {
		t.Errorf("the kinds are %v, want three", kinds)
	}
}

func TestABadContentForTheCrowdBreaksWhoRestartsFirst(t *testing.T) {
	c, b, begin := newCrowd(), newBreaker(nil), time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC)
	b.doomFirst(c, c.readers, begin)
	pod := func(i int, restarted time.Time) *corev1.Pod {
		pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
		pod.Namespace, pod.Labels = crowdNamespace, map[string]string{"app": c.readers[i].name}
		pod.Annotations = map[string]string{timestampAnnotation: restarted.Format(time.RFC3339Nano)}
		return pod
	}
	before, after := begin.Add(-time.Second), begin.Add(time.Second)
	for _, p := range []*corev1.Pod{pod(1, before), pod(2, after), pod(3, after), pod(2, after)} {
		b.see(p)
	}
	if len(b.doomed) != 2 || (<-b.doomed).Labels["app"] != c.readers[2].name || (<-b.doomed).Labels["app"] != c.readers[2].name {
		t.Error("other pods crash than those of the workload that restarted first")
	}
	if victims := b.spare(c); len(victims) != 1 || victims[0] != c.readers[2] {
		t.Errorf("%d workloads suffered, want one", len(victims))
	}
	if b.isDoomed(pod(2, after)) {
		t.Error("a content that is mended breaks pods")
	}
}
