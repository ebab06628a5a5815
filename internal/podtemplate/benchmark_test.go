package podtemplate

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// typical is a template as charts make it.
func typical() *corev1.PodTemplateSpec {
	probe := &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http"), Scheme: "HTTP"}},
		PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
	}
	container := func(name string) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.example.com/team/" + name + ":1.2.3", ImagePullPolicy: corev1.PullIfNotPresent,
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
			Env:   []corev1.EnvVar{{Name: "LOG", Value: "info"}, {Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("128Mi")},
				Limits:   corev1.ResourceList{"memory": resource.MustParse("1Gi")},
			},
			LivenessProbe: probe, ReadinessProbe: probe,
			SecurityContext:        &corev1.SecurityContext{RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			VolumeMounts:           []corev1.VolumeMount{{Name: "config", MountPath: "/config"}, {Name: "tmp", MountPath: "/tmp"}},
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File",
		}
	}
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "web", "team": "red"},
			Annotations: map[string]string{timestamp: "2026-01-20T19:46:46.176369916Z", "prometheus.io/scrape": "true"},
		},
		Spec: corev1.PodSpec{
			Containers:     []corev1.Container{container("app"), container("proxy")},
			InitContainers: []corev1.Container{container("setup")},
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web"}, DefaultMode: new(int32(420))}}},
				{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
			RestartPolicy: "Always", DNSPolicy: "ClusterFirst", SchedulerName: "default-scheduler", ServiceAccountName: "web",
			TerminationGracePeriodSeconds: new(int64(30)), SecurityContext: &corev1.PodSecurityContext{},
		},
	}
}

// hostile is as large as the API takes: each of many containers mounts a volume of many
// sources.
func hostile(containers, sources int) *corev1.PodTemplateSpec {
	template := &corev1.PodTemplateSpec{}
	for i := range containers {
		template.Spec.Containers = append(template.Spec.Containers, corev1.Container{
			Name: fmt.Sprint("container-", i), Image: "i", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}},
		})
	}
	projected := &corev1.ProjectedVolumeSource{}
	for i := range sources {
		projected.Sources = append(projected.Sources, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprint("a-secret-of-a-name-of-some-length-", i)},
			Items:                []corev1.KeyToPath{{Key: fmt.Sprint("key-", i), Path: fmt.Sprint("path-", i)}},
		}})
	}
	template.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Projected: projected}}}
	return template
}

const timestamp = "com.xing.deployment-restart.timestamp"

// The API server takes objects of 1.5 MiB. What such a template costs grows with its size,
// and takes no more than a few allocations: a buffer that is doubled until it is large enough.
func TestAnEncodingOfALargeTemplateTakesFewAllocationsAndIsNotMuchLarger(t *testing.T) {
	for _, times := range []int{1, 2, 4} {
		template := hostile(1000*times, 2500*times)
		var text []byte
		allocations := testing.AllocsPerRun(1, func() { text = Encode(template).text })
		if allocations > 50 {
			t.Errorf("%.0f allocations for %d bytes", allocations, len(text))
		}
		if size := template.Size(); len(text) > 3*size {
			t.Errorf("%d bytes for %d of protobuf", len(text), size)
		}
	}
}

// What an event about a workload costs: the sums with and without a restart's mark.
func BenchmarkTwoSums(b *testing.B) {
	for name, template := range map[string]*corev1.PodTemplateSpec{
		"of a typical template":                    typical(),
		"of 1000 containers and 2500 sources":      hostile(1000, 2500),
		"of 5000 containers and 12500 sources":     hostile(5000, 12500),
		"of a container with 10000 variables":      manyVariables(10_000),
		"of a container with 10000 resource names": manyResources(10_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				encoded := Encode(template)
				encoded.Sum()
				encoded.SumWithoutAnnotations(timestamp)
			}
			b.ReportMetric(float64(template.Size()), "bytes")
		})
	}
}

func manyVariables(n int) *corev1.PodTemplateSpec {
	var env []corev1.EnvVar
	for i := range n {
		env = append(env, corev1.EnvVar{Name: fmt.Sprint("NAME_", i), Value: fmt.Sprint("value-", i)})
	}
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Env: env}}}}
}

func manyResources(n int) *corev1.PodTemplateSpec {
	requests := corev1.ResourceList{}
	for i := range n {
		requests[corev1.ResourceName(fmt.Sprint("example.com/resource-", i))] = resource.MustParse(fmt.Sprint(i))
	}
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}}}}
}
