package controller

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
)

// The owner of the canary does not want the mended content, but its pods have read the bad one.
func TestAFailureDoesNotHaltAContentThatCameAfterTheRestart(t *testing.T) {
	for _, ignores := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := gradual(t, "a/web", "a/other", "a/third")
			w.edited("a/c", "bad")
			settle(w)
			canary := w.restarted()[0]
			time.Sleep(10 * time.Second)
			w.edited("a/c", "good")
			if ignores {
				w.changed(canary, func(d *appsv1.Deployment) { d.Annotations[annotation.IgnoreAnnotation] = "configmap/c" })
				settle(w)
			}
			time.Sleep(10 * time.Second)
			w.fails(t, canary)
			settle(w)
			if halts := w.controller.gate.ActiveHalts(); len(halts) > 0 {
				t.Errorf("with the canary ignoring the config (%t): %+v", ignores, halts)
			}
		})
	}
}

// A halt of a Secret is one of its whole content. An edit of a key that the canary does not read changes nothing for it, but one
// that it reads makes a content that nobody has tried.
func TestAnEditOfAnotherKeyOfASecretHidesNoFailureUnlessItIsRead(t *testing.T) {
	for _, readsBoth := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { failsAfterAnEditOfAnotherKey(t, readsBoth) })
	}
}

func failsAfterAnEditOfAnotherKey(t *testing.T, readsBoth bool) {
	w := gradual(t)
	w.controller.useKey(content.NewChecksumKey([content.ChecksumKeySize]byte{1}))
	meta, secret := w.meta("a/s"), corev1.LocalObjectReference{Name: "s"}
	edit := func(read, other string) {
		meta.ResourceVersion = w.nextVersion()
		w.show("secrets", &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"read": []byte(read), "other": []byte(other)}})
	}
	edit("1", "1")
	for i := range 4 {
		d := w.deployment(fmt.Sprint("a/web-", i))
		if main := &d.Spec.Template.Spec.Containers[0]; readsBoth {
			main.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: secret}}}
		} else {
			main.Env = []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: secret, Key: "read"}}}}
		}
		wholeStatus(d)
		w.deployments[nameOf(d)] = d
		w.show("deployments", d)
	}
	settle(w)
	time.Sleep(time.Minute)
	edit("bad", "1")
	settle(w)
	canary := w.restarted()
	time.Sleep(10 * time.Second)
	edit("bad", "2")
	if !readsBoth {
		settle(w)
	}
	time.Sleep(10 * time.Second)
	w.fails(t, canary[0])
	if halts := w.controller.gate.ActiveHalts(); len(canary) != 1 || len(halts) == 0 != readsBoth {
		t.Errorf("reads both keys: %t; %v restarted first, halts: %+v", readsBoth, canary, halts)
	}
}
