package decide

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// duo is a cluster with a leader and a standby, whose watches may be behind, each by as much as it
// likes. The workload reads two configs, x and y, and starts without x. Decisions and
// writes are apart, so that anything can happen in between.
type duo struct {
	t          rapid.TB
	now        float64
	contents   int
	version    int
	live       map[string]*corev1.ConfigMap // without those that are gone
	last       objecttest.Data              // the contents of the configs that are gone
	recorded   objecttest.Data              // the contents at the last record
	deployment *appsv1.Deployment
	// templates names the pod template of each fingerprint.
	templates  map[record.Fingerprint]string
	timestamps []string
	pods       []duoPod
	replicas   [2]*replica
	leader     int
	pending    *pendingWrite
	// blind means that the process that made the record had not seen all of the configs. Nobody
	// else knows which: a limit that docs/design.md describes.
	blind bool
	told  []step
	// restarts counts the restarts, and needless those that came when all pods had read the present content already.
	restarts, needless *int
	verdicts
}

// replica is a process with what its watches have not shown yet.
type replica struct {
	name      string
	catalog   *catalog.Catalog
	configs   []shownConfig
	workloads []*appsv1.Deployment
}

// shownConfig is an event of the watch of configs, of one that is gone if it is only a name.
type shownConfig struct {
	at      float64
	name    string
	present *corev1.ConfigMap
}

// pendingWrite is a decision that has yet to be carried out.
type pendingWrite struct {
	at       float64
	view     catalog.View
	decision Decision
	blind    bool
}

type duoPod struct {
	started  float64
	template string
	seen     objecttest.Data
}

func newDuo(t rapid.TB, restarts, needless *int) *duo {
	container := corev1.Container{Name: "app", EnvFrom: append(objecttest.ReadsAll("x", true).EnvFrom, objecttest.ReadsAll("y", false).EnvFrom...)}
	d := &duo{
		t: t, restarts: restarts, needless: needless, told: []step{{0, "x:key", "0"}, {0, "y:key", "0"}, {0, "leader", "A"}}, now: 10, deployment: objecttest.Deployment(container), last: objecttest.Data{}, templates: map[record.Fingerprint]string{},
		live: map[string]*corev1.ConfigMap{"x": objecttest.ConfigMap("x", objecttest.Data{"key": "0"}), "y": objecttest.ConfigMap("y", objecttest.Data{"key": "0"})},
	}
	d.changed()
	d.pods = []duoPod{d.newPod(d.template()), d.newPod(d.template())}
	for i := range d.replicas {
		c := catalog.New()
		listConfigs(c, names.ConfigMap, "", objecttest.ListOf(content.NewConfigMap(d.live["x"]), content.NewConfigMap(d.live["y"])), objecttest.Noon, true)
		listWorkloads(c, names.Deployment, "", objecttest.ListOf(catalogtest.MustWorkload(d.deployment)), 0)
		d.replicas[i] = &replica{name: []string{"A", "B"}[i], catalog: c}
	}
	d.now += 10
	return d
}

// tells lets a cell of the story say something. No story has two controllers, so none can play it.
func (d *duo) tells(label, cell string) { d.told = append(d.told, step{d.now, label, cell}) }

func (d *duo) fail(why string) {
	steps := slices.Clone(d.told)
	for _, pod := range slices.DeleteFunc(slices.Clone(d.pods), func(pod duoPod) bool { return pod.template != d.template() }) {
		why += fmt.Sprintf("; the pod of second %v has read %v", pod.started, pod.seen)
		steps = append(steps, step{pod.started, "pods", "x"})
	}
	story := append([]string{drawSteps(why+".", []string{"app reads x?, y"}, steps, "pods")}, d.legend()...)
	d.t.Fatalf("like testdata/stories, of two controllers whose watches are behind:\n\n%s\n\n", strings.Join(story, "\n"))
}

// template names the present pod template.
func (d *duo) template() string {
	template := &d.deployment.Spec.Template
	return template.Spec.Containers[0].Image + " " + template.Annotations[annotation.TimestampAnnotation]
}

func (d *duo) newPod(template string) duoPod {
	pod := duoPod{template: template, started: d.now + 3, seen: objecttest.Data{}}
	for name, config := range d.live {
		pod.seen[name] = config.Data["key"]
	}
	return pod
}

// changed lets the watches of the workload show it, sooner or later.
func (d *duo) changed() {
	d.version++
	d.deployment.ResourceVersion = strconv.Itoa(d.version)
	d.templates[catalogtest.MustWorkload(d.deployment).PodTemplate] = d.template()
	for _, r := range d.replicas {
		if r != nil {
			r.workloads = append(r.workloads, d.deployment.DeepCopy())
		}
	}
}

func (d *duo) setConfig(name, content string) {
	config, found := d.live[name]
	if !found {
		config = objecttest.ConfigMap(name, nil)
		config.CreationTimestamp.Time = objecttest.NoonPlus(d.now)
	} else {
		config = config.DeepCopy()
		config.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(d.now), "f:data/f:key")}
	}
	config.Data = objecttest.Data{"key": content}
	d.live[name] = config
	for _, r := range d.replicas {
		r.configs = append(r.configs, shownConfig{at: d.now, name: name, present: config})
	}
	d.tells(name+":key", content)
}

func (d *duo) deleteConfig(name string) {
	config, found := d.live[name]
	if !found {
		return
	}
	d.last[name] = config.Data["key"]
	delete(d.live, name)
	for _, r := range d.replicas {
		r.configs = append(r.configs, shownConfig{at: d.now, name: name})
	}
	d.tells(name, "deleted")
}

// show lets the watches of a replica show so many events at most. A deletion has the time at which
// it happened: that of one that is shown late is a limit that docs/design.md describes.
func (d *duo) show(r *replica, configs, workloads int) {
	configs, workloads = min(configs, len(r.configs)), min(workloads, len(r.workloads))
	if configs > 0 {
		d.tells("watch of configs of "+r.name, fmt.Sprint("shows-", configs))
	}
	if workloads > 0 {
		d.tells("watch of deployments of "+r.name, fmt.Sprint("shows-", workloads))
	}
	for ; configs > 0; configs-- {
		event := r.configs[0]
		if r.configs = r.configs[1:]; event.present != nil {
			r.catalog.ObserveConfig(content.NewConfigMap(event.present), objecttest.NoonPlus(d.now))
		} else {
			r.catalog.ForgetConfig(objecttest.ConfigMapRef(event.name), objecttest.NoonPlus(event.at))
		}
	}
	for ; workloads > 0; workloads-- {
		r.catalog.ObserveWorkload(catalogtest.MustWorkload(r.workloads[0]))
		r.workloads = r.workloads[1:]
	}
}

// rollOut replaces the pods that are not of the present template, or all but one of them for now.
func (d *duo) rollOut(completely bool) {
	for i, pod := range d.pods {
		if pod.template != d.template() && (i > 0 || completely) {
			d.pods[i] = d.newPod(d.template())
		}
	}
}

// isStale reports whether a pod that will not be replaced by itself runs with another content than
// the present one.
func (d *duo) isStale() bool {
	return slices.ContainsFunc(d.pods, func(pod duoPod) bool {
		if pod.template != d.template() {
			return false
		}
		for name, config := range d.live {
			if config.Data["key"] != pod.seen[name] {
				return true
			}
		}
		return false
	})
}
