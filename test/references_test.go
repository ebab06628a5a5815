package test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// reference is a way in which a pod refers to a config.
type reference struct {
	name string
	pod  corev1.PodSpec
	// harmless edits change nothing that the containers see, and must not restart.
	harmless []edit
	// harmful changes something that they see, and must restart once; nil for a
	// pod that sees nothing at all.
	harmful []edit
}

type edit struct {
	config  config
	changes []change
}

// Before the edits, the ConfigMap and the Secret hold the keys "used" and
// "unused", the ConfigMap also the binary key "blob".
var (
	settings    = configMap("settings")
	credentials = secret("credentials")
)

var references = []reference{
	{
		name:     "envFrom of a ConfigMap sees all of data and nothing of binaryData",
		pod:      podOf(envFrom(settings)),
		harmless: []edit{{settings, []change{label("team", "red"), setBinary("blob", "v2"), setBinary("new", "v1")}}},
		harmful:  []edit{{settings, []change{set("used", "v2")}}},
	},
	{
		name:     "envFrom sees a new key",
		pod:      podOf(envFrom(settings)),
		harmless: []edit{{settings, []change{setBinary("blob", "v2")}}},
		harmful:  []edit{{settings, []change{set("new", "v1")}}},
	},
	{
		name:     "envFrom sees that a key is gone",
		pod:      podOf(envFrom(settings)),
		harmless: []edit{{settings, []change{remove("blob")}}},
		harmful:  []edit{{settings, []change{remove("used")}}},
	},
	{
		name:     "envFrom of a Secret sees all of it",
		pod:      podOf(envFrom(credentials)),
		harmless: []edit{{credentials, []change{label("team", "red")}}, {settings, []change{set("used", "v2")}}},
		harmful:  []edit{{credentials, []change{set("used", "v2")}}},
	},
	{
		name:     "env.valueFrom sees one key of a ConfigMap",
		pod:      podOf(envKey(settings, "used")),
		harmless: []edit{{settings, []change{set("unused", "v2"), set("new", "v1"), setBinary("blob", "v2")}}},
		harmful:  []edit{{settings, []change{set("used", "v2")}}},
	},
	{
		name:     "env.valueFrom sees one key of a Secret",
		pod:      podOf(envKey(credentials, "used")),
		harmless: []edit{{credentials, []change{remove("unused"), set("new", "v1")}}},
		harmful:  []edit{{credentials, []change{set("used", "v2")}}},
	},
	{
		name:     "envFrom does not see a key that a literal replaces",
		pod:      podOf(envFrom(settings), literal("used", "mine")),
		harmless: []edit{{settings, []change{set("used", "v2")}}, {settings, []change{remove("used")}}},
		harmful:  []edit{{settings, []change{set("unused", "v2")}}},
	},
	{
		name:     "envFrom sees a key that a literal refers to, and a key with a prefix that none replaces",
		pod:      podOf(envFrom(settings), literal("used", "$(used) and mine"), literal("P_unused", "mine")),
		harmless: []edit{{settings, []change{setBinary("blob", "v2")}}},
		harmful:  []edit{{settings, []change{set("used", "v2"), set("unused", "v2")}}},
	},
	{
		name:     "of one name twice in env, the later one is seen",
		pod:      podOf(envKey(settings, "used"), literal("VALUE_OF_used", "mine"), envKey(credentials, "used")),
		harmless: []edit{{settings, []change{set("used", "v2")}}},
		harmful:  []edit{{credentials, []change{set("used", "v2")}}},
	},
	{
		name: "an init container sees its environment",
		pod: corev1.PodSpec{
			InitContainers: []corev1.Container{container("init", envKey(settings, "used"))},
			Containers:     []corev1.Container{container("main")},
		},
		harmless: []edit{{settings, []change{set("unused", "v2")}}},
		harmful:  []edit{{settings, []change{set("used", "v2")}}},
	},
	{
		name: "a sidecar sees its environment",
		pod: corev1.PodSpec{
			InitContainers: []corev1.Container{container("sidecar", envKey(credentials, "used"),
				func(c *corev1.Container) { c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways) })},
			Containers: []corev1.Container{container("main")},
		},
		harmless: []edit{{credentials, []change{set("unused", "v2")}}},
		harmful:  []edit{{credentials, []change{set("used", "v2")}}},
	},
	{
		name: "several containers see several keys",
		pod: corev1.PodSpec{Containers: []corev1.Container{
			container("main", envKey(settings, "used")), container("other", envKey(settings, "blue")),
		}},
		harmless: []edit{{settings, []change{set("unused", "v2")}}},
		harmful:  []edit{{settings, []change{set("blue", "v1")}}},
	},
	{
		name:     "a volume of a ConfigMap shows all of it, binaryData too",
		pod:      withVolumes(podOf(mount("files")), volumeOf("files", settings)),
		harmless: []edit{{settings, []change{label("team", "red")}}},
		harmful:  []edit{{settings, []change{setBinary("blob", "v2")}}},
	},
	{
		name:     "a file that moves from data to binaryData is the same file",
		pod:      withVolumes(podOf(mount("files")), volumeOf("files", settings)),
		harmless: []edit{{settings, []change{remove("unused"), setBinary("unused", "v1")}}},
		harmful:  []edit{{settings, []change{setBinary("unused", "v2")}}},
	},
	{
		name:     "a volume of a Secret shows all of it",
		pod:      withVolumes(podOf(mount("files")), volumeOf("files", credentials)),
		harmless: []edit{{credentials, []change{label("team", "red")}}},
		harmful:  []edit{{credentials, []change{set("new", "v1")}}},
	},
	{
		name:     "a volume with items shows their keys",
		pod:      withVolumes(podOf(mount("files")), volumeOf("files", settings, item("used", "app/used.conf"))),
		harmless: []edit{{settings, []change{set("unused", "v2"), setBinary("blob", "v2"), set("new", "v1")}}},
		harmful:  []edit{{settings, []change{set("used", "v2")}}},
	},
	{
		name:     "mounts that all have a subPath show these keys",
		pod:      withVolumes(podOf(mountSubPath("files", "used"), mountSubPath("files", "blob")), volumeOf("files", settings)),
		harmless: []edit{{settings, []change{set("unused", "v2"), set("new", "v1")}}},
		harmful:  []edit{{settings, []change{setBinary("blob", "v2")}}},
	},
	{
		name: "one mount without a subPath shows all",
		pod: withVolumes(corev1.PodSpec{Containers: []corev1.Container{
			container("main", mountSubPath("files", "used")), container("other", mount("files")),
		}}, volumeOf("files", credentials)),
		harmless: []edit{{credentials, []change{label("team", "red")}}},
		harmful:  []edit{{credentials, []change{set("unused", "v2")}}},
	},
	{
		name: "a subPathExpr may show anything",
		pod: withVolumes(podOf(
			func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "FILE", Value: "used"}} },
			mountOf(corev1.VolumeMount{Name: "files", MountPath: "/etc/file", SubPathExpr: "$(FILE)"}),
		), volumeOf("files", settings)),
		harmless: []edit{{settings, []change{label("team", "red")}}},
		harmful:  []edit{{settings, []change{set("unused", "v2")}}},
	},
	{
		name: "a subPath of items shows what they put there",
		pod: withVolumes(podOf(mountSubPath("files", "app")),
			volumeOf("files", settings, item("used", "app/used.conf"), item("unused", "other/unused.conf"))),
		harmless: []edit{{settings, []change{set("unused", "v2")}}},
		harmful:  []edit{{settings, []change{set("used", "v2")}}},
	},
	{
		name: "a projected volume shows its sources, of a Secret the whole",
		pod: withVolumes(podOf(mount("files")),
			projectedVolume("files", projection(settings, item("used", "used")), projection(credentials))),
		harmless: []edit{{settings, []change{set("unused", "v2"), setBinary("blob", "v2")}}},
		harmful:  []edit{{credentials, []change{set("unused", "v2")}}},
	},
	{
		name: "a projected volume shows its sources, of a ConfigMap the items",
		pod: withVolumes(podOf(mount("files")),
			projectedVolume("files", projection(settings, item("used", "used")), projection(credentials, item("used", "secret")))),
		harmless: []edit{{settings, []change{set("unused", "v2")}}, {credentials, []change{set("unused", "v2")}}},
		harmful:  []edit{{settings, []change{set("used", "v2")}}},
	},
	{
		name: "a projected volume does not show a file that a later item replaces",
		pod: withVolumes(podOf(mount("files")),
			projectedVolume("files", projection(settings), projection(credentials, item("unused", "used")))),
		harmless: []edit{{settings, []change{set("used", "v2")}}, {credentials, []change{set("used", "v2")}}},
		harmful:  []edit{{settings, []change{set("unused", "v2")}}},
	},
	{
		name: "a volume that no container mounts shows nothing",
		pod:  withVolumes(podOf(envKey(credentials, "used")), volumeOf("files", settings)),
		harmless: []edit{
			{settings, []change{set("used", "v2"), set("unused", "v2"), setBinary("blob", "v2")}},
			{credentials, []change{set("unused", "v2")}},
		},
		harmful: []edit{{credentials, []change{set("used", "v2")}}},
	},
	{
		name:     "an optional key is seen when it appears",
		pod:      podOf(envKeyOptional(settings, "later")),
		harmless: []edit{{settings, []change{set("used", "v2")}}},
		harmful:  []edit{{settings, []change{set("later", "v1")}}},
	},
	{
		name: "secrets for pulling images and for volume drivers are not read by containers",
		pod: func() corev1.PodSpec {
			pod := withVolumes(podOf(mount("files")), corev1.Volume{Name: "files", VolumeSource: corev1.VolumeSource{
				CSI: &corev1.CSIVolumeSource{
					Driver:               "files.example",
					NodePublishSecretRef: &corev1.LocalObjectReference{Name: credentials.name},
				},
			}})
			pod.ImagePullSecrets = []corev1.LocalObjectReference{{Name: credentials.name}}
			return pod
		}(),
		harmless: []edit{{credentials, []change{set("used", "v2"), remove("unused")}}},
	},
}

func withVolumes(pod corev1.PodSpec, volumes ...corev1.Volume) corev1.PodSpec {
	pod.Volumes = append(pod.Volumes, volumes...)
	return pod
}

func TestAnEditRestartsExactlyTheWorkloadsWhoseContainersSeeIt(t *testing.T) {
	t.Parallel()
	for _, reference := range references {
		t.Run(reference.name, func(t *testing.T) {
			s := newScene(t)
			s.make(settings, set("used", "v1"), set("unused", "v1"), setBinary("blob", "v1"))
			s.make(credentials, set("used", "v1"), set("unused", "v1"))
			app := s.run("app", reference.pod)
			before := s.started(app)

			s.apply(reference.harmless)
			s.settle()
			s.requireRestarts(app, before, 0)
			if reference.harmful == nil {
				return
			}
			s.apply(reference.harmful)
			s.awaitRestart(app, before)
			s.settle()
			s.requireRestarts(app, before, 1)
		})
	}
}

func (s *scene) apply(edits []edit) {
	s.Helper()
	for _, edit := range edits {
		s.edit(edit.config, edit.changes...)
	}
}

func TestAConfigThatIsMissingAtFirst(t *testing.T) {
	t.Parallel()
	t.Run("is a change where it is optional", func(t *testing.T) {
		s := newScene(t)
		app := s.run("app", podOf(envFromOptional(settings)))
		before := s.started(app)
		s.make(settings, set("used", "v1"))
		s.awaitRestart(app, before)
		s.settle()
		s.requireRestarts(app, before, 1)
	})
	t.Run("is none where the containers could not start without it", func(t *testing.T) {
		s := newScene(t)
		app := s.run("app", podOf(envFrom(settings)))
		before := s.started(app)
		s.make(settings, set("used", "v1"))
		s.settle()
		before = s.requireWrites(app, before, 0, 1) // its checksum is recorded

		s.edit(settings, set("used", "v2"))
		s.awaitRestart(app, before)
		s.settle()
		s.requireRestarts(app, before, 1)
	})
}
