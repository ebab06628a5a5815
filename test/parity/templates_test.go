package parity

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// expressive gives the Deployment a selector of labels and expressions.
func expressive(d *appsv1.Deployment) {
	d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{
		{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"front", "back"}},
		{Key: "legacy", Operator: metav1.LabelSelectorOpDoesNotExist},
	}
	d.Spec.Template.Labels["tier"] = "front"
}

// memory sets the container's limit in a notation of its own.
func memory(quantity string) option {
	return func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{
			corev1.ResourceMemory: resource.MustParse(quantity),
		}
	}
}

// rich fills a template with one of almost everything: pointers, maps of several
// keys, quantities, numbers or strings, times, nested lists.
func rich(d *appsv1.Deployment) {
	t := &d.Spec.Template
	t.Annotations = map[string]string{"b": "2", "a": "1", "c": "drei ✓\n"}
	for _, key := range []string{"x", "y", "example.com/z"} {
		t.Labels[key] = "value"
	}
	s := &t.Spec
	c := &s.Containers[0]
	c.Command, c.Args, c.WorkingDir = []string{"/bin/sh", "-c"}, []string{"echo \"quoted\" & <tags>"}, "/srv"
	c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}, {ContainerPort: 53, Protocol: corev1.ProtocolUDP}}
	c.Env = []corev1.EnvVar{
		{Name: "PLAIN", Value: "value"},
		{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: "c", Resource: "limits.cpu", Divisor: resource.MustParse("1m")}}},
		{Name: "KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "secret"}, Key: "key", Optional: new(true)}}},
	}
	c.EnvFrom = []corev1.EnvFromSource{{Prefix: "P_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}}}
	c.Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("0.25"), "memory": resource.MustParse("128Mi"), "example.com/gadget": resource.MustParse("2")},
		Limits:   corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi"), "example.com/gadget": resource.MustParse("2")},
	}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/config", ReadOnly: true}, {Name: "scratch", MountPath: "/scratch", SubPathExpr: "$(POD)"}}
	c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("http"), HTTPHeaders: []corev1.HTTPHeader{{Name: "X", Value: "y"}}}}, PeriodSeconds: 7}
	c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}}, TerminationGracePeriodSeconds: nil, SuccessThreshold: 2}
	c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "1"}}}}
	c.SecurityContext = &corev1.SecurityContext{
		RunAsUser: new(int64(1000)), RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_BIND_SERVICE"}},
	}
	s.InitContainers = []corev1.Container{{Name: "side", Image: "i:side", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}, {Name: "init", Image: "i:init"}}
	s.Volumes = []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "config"}, Items: []corev1.KeyToPath{{Key: "k", Path: "p", Mode: new(int32(0o400))}}}},
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3600))}},
		}}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1.5Gi"))}}},
	}
	s.NodeSelector = map[string]string{"disk": "ssd", "zone": "a"}
	s.Affinity = &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
			{Weight: 5, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpGt, Values: []string{"3"}}}}}}},
		PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}},
	}
	s.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}}
	s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, MatchLabelKeys: []string{"pod-template-hash"},
	}}
	s.HostAliases = []corev1.HostAlias{{IP: "127.0.0.1", Hostnames: []string{"a", "b"}}}
	s.DNSConfig = &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: new("2")}}}
	s.TerminationGracePeriodSeconds, s.ShareProcessNamespace, s.EnableServiceLinks = new(int64(45)), new(true), new(false)
	s.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(2000)), SupplementalGroups: []int64{3, 1, 2}}
	s.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/gate"}}
}
