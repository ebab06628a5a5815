package controller

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/internal/statuspage"
)

// statusOfMany returns the status page of a controller with so many workloads that read one config, all of which
// are pending, wait and roll at the same time.
func statusOfMany(t testing.TB, count int) http.Handler {
	w := gradual(t)
	c := w.controller
	decision := decide.Decision{Outcome: decide.Restart, Causes: []decide.Cause{{Config: aConfig, Keys: []string{"k"}}}}
	for i := range count {
		name := fmt.Sprintf("a/web-%05d", i)
		w.show("deployments", w.deployment(name, "c"))
		c.deliveries.History.Begin(objecttest.DeploymentNamed(name), "id", strings.Repeat("x", follow.LongestWhy), time.Now())
		ref, since := objecttest.DeploymentNamed(name), time.Now().Add(-time.Duration(i)*time.Second) // the worst order
		c.restarter.Backlogs.PutOff(ref, decision.Causes, gate.Answer{Reason: gate.Reasons[i%len(gate.Reasons)], Text: "an incident"}, since)
		restart := &tracker.RollingRestart{Restart: &delivery.Restart{}, Began: since, Decision: decision, HasFailed: i%2 == 0}
		c.deliveries.Table.Update(ref, func(row *tracker.Row) { row.Rolling = restart })
		c.gate.Ask(&gate.Request{Workload: ref, Standing: gate.Well, Causes: []gate.Cause{{
			Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: fmt.Sprintf("c-%05d", i)}, Moments: []names.Sequence{1}, IsGradual: true,
		}}}, since)
	}
	w.edited("a/c", "2")
	return pageOf(c)
}

// pageOf returns the status page of a controller.
func pageOf(c *Controller) http.Handler {
	return statuspage.New(statuspage.Source{
		Knowledge: func(namespace string) status.Knowledge {
			return status.NewKnowledge(true, nil, c.Watches(namespace), time.Now())
		},
		Leads:        c.Leads,
		Overview:     func(namespace string) *status.Overview { return c.Overview(namespace, time.Now()) },
		Workload:     func(name string) *status.Workload { return c.ExplainWorkload(name, time.Now()) },
		Config:       func(name string) *status.Config { return c.ExplainConfig(name, time.Now()) },
		List:         func(asked status.Selection) *status.Listing { return c.List(asked, time.Now()) },
		HasNamespace: c.Catalog.HasNamespace,
	}, slog.New(slog.DiscardHandler))
}

var statusPaths = []string{"/", "/status.json", "/config/configmap/a/c", "/config/configmap/a/c/status.json", "/workload/deployment/a/web-00000", "/namespaces", "/namespace/a/workloads", "/namespace/a/workloads/2/status.json", "/namespace/a/configs", "/workloads?q=web-0&state=failed&state=held&state=retrying", "/configs"}

// nowhere takes an answer, and counts its bytes.
type nowhere struct {
	header http.Header
	code   int
	size   int
}

func (n *nowhere) Header() http.Header { return n.header }

func (n *nowhere) WriteHeader(code int) { n.code = code }

func (n *nowhere) Write(data []byte) (int, error) {
	n.size += len(data)
	return len(data), nil
}

func loadPage(t testing.TB, page http.Handler, path string) (size int) {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.Host = "localhost"
	answer := &nowhere{header: http.Header{}}
	if page.ServeHTTP(answer, request); answer.code != http.StatusOK {
		t.Fatalf("%s: %d", path, answer.code)
	}
	return answer.size
}

// The API accepts any text as the name of a config or a key.
func TestThePageOfAWorkloadIsSmallWhateverItsPodTemplateSays(t *testing.T) {
	for name, volume := range map[string]func(i int) *corev1.ConfigMapVolumeSource{
		"names of configs": func(i int) *corev1.ConfigMapVolumeSource {
			return &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: strings.Repeat("<", 100_000) + fmt.Sprint(i)}}
		},
		"names of keys": func(i int) *corev1.ConfigMapVolumeSource {
			return &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprint("c-", i)},
				Items:                []corev1.KeyToPath{{Key: strings.Repeat("<", 100_000), Path: "file"}},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := gradual(t)
			d := w.deployment("a/web", "c")
			template := &d.Spec.Template.Spec
			for i := range 10 {
				v := corev1.Volume{Name: fmt.Sprint("v", i), VolumeSource: corev1.VolumeSource{ConfigMap: volume(i)}}
				template.Volumes = append(template.Volumes, v)
				template.Containers[0].VolumeMounts = append(template.Containers[0].VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
			}
			w.show("deployments", d)
			page := pageOf(w.controller)
			for _, path := range []string{"/workload/deployment/a/web", "/workload/deployment/a/web/status.json"} {
				if size := loadPage(t, page, path); size > 128<<10 {
					t.Errorf("%s: %d KiB", path, size>>10)
				}
			}
		})
	}
}

func BenchmarkStatusPage(b *testing.B) {
	page := statusOfMany(b, 10_000)
	for _, path := range statusPaths {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				loadPage(b, page, path)
			}
		})
	}
}

func BenchmarkStatusPageOf100000Configs(b *testing.B) {
	w := gradual(b)
	for i := range 100_000 {
		w.show("configmaps", &corev1.ConfigMap{ObjectMeta: w.meta(fmt.Sprintf("namespace-%03d/settings-%05d", i%500, i))})
	}
	page := pageOf(w.controller)
	for _, path := range []string{"/configs", "/configs?q=settings", "/configs?q=settings-000", "/namespaces"} {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				loadPage(b, page, path)
			}
		})
	}
}

func TestExplainingAWorkloadLooksAtAConfigOnceHoweverManyContainersReadIt(t *testing.T) {
	const containers, keys = 1000, 2000
	w := gradual(t)
	content := make(map[string]string, keys)
	for i := range keys {
		content[fmt.Sprintf("key-%04d", i)] = "1"
	}
	w.show("configmaps", &corev1.ConfigMap{ObjectMeta: w.meta("a/c"), Data: content})
	for name, ignore := range map[string]string{"all keys": "", "by rules": "configmap/c:key-0*"} {
		d := w.deployment("a/web", "c")
		for i := range containers {
			container := d.Spec.Template.Spec.Containers[0]
			container.Name = fmt.Sprint("app", i)
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, container)
		}
		d.Annotations[annotation.IgnoreAnnotation] = ignore
		w.show("deployments", d)
		view, _ := w.controller.catalog.View(objecttest.DeploymentNamed("a/web"))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		reads := w.controller.ReadsOf(&view).Items
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 4<<20 {
			t.Errorf("%s: %d bytes were allocated", name, allocated)
		}
		if want := map[bool]int{true: keys, false: keys / 2}[ignore == ""]; reads[0].KeyCount != want {
			t.Errorf("%s: %d keys, want %d", name, reads[0].KeyCount, want)
		}
	}
}
