package main

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/soak/model"
)

func TestHaltsAreReadAsTheControllersKeepThem(t *testing.T) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}, Data: map[string]string{
		"hold":                     "not a halt",
		"exposed.soak-1.workloads": "[{}]",
		"secret.soak-1.config-4": `[{"id":"k3v7x2ab","config":"secret/soak-1/config-4","keys":["a"],"content":"4d2877b176f6a31c",` +
			`"failed":["statefulset/soak-1/app-2"],"since":"2026-01-20T19:46:46Z","resumed":"2026-01-20T19:47:46Z","gone":true}]`,
	}}
	now := time.Date(2026, 1, 20, 20, 0, 0, 0, time.UTC)
	got, err := haltsIn(object, now)
	if err != nil {
		t.Fatal(err)
	}
	want := model.Halt{
		At: now, Version: 7, ID: "k3v7x2ab", Config: model.ConfigRef{Kind: "secret", Name: "soak-1/config-4"}, Keys: []string{"data/a", "binary/a"},
		Failed: []model.WorkloadRef{{Kind: "StatefulSet", Name: "soak-1/app-2"}}, Since: time.Date(2026, 1, 20, 19, 46, 46, 0, time.UTC), Resumed: true, Gone: true,
	}
	if len(got) != 1 || !reflect.DeepEqual(got[0].Halt, want) {
		t.Errorf("read are %+v, want %+v", got, want)
	}
	object.Data["secret.soak-1.config-4"] = "["
	if _, err := haltsIn(object, now); err == nil {
		t.Error("an entry that cannot be read is no error")
	}
}
