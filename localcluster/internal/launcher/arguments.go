package launcher

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// podRange is where KWOK takes the addresses of pods from.
	podRange     = "10.244.0.0/16"
	serviceRange = "10.96.0.0/16"

	// etcdQuota leaves room for benchmarks: 8 GiB, the most that etcd recommends.
	etcdQuota = 8 << 30

	// clientQPS lifts the limit that components put on themselves (20 requests a second for the controller manager),
	// which is what one would measure otherwise.
	clientQPS   = 1000
	clientBurst = 2000
)

// arguments returns the command line of a component: its name, the flags that make it a member of the cluster, and
// the user's extra flags.
func arguments(component string, layout Layout, ports Ports, options Options) []string {
	var flags []string
	switch component {
	case Etcd:
		flags = etcdFlags(layout, ports)
	case APIServer:
		flags = apiServerFlags(layout, ports)
	case ControllerManager:
		flags = controllerManagerFlags(layout, ports, options.WithoutDeploymentController)
	case Scheduler:
		flags = schedulerFlags(layout, ports)
	case KWOK:
		flags = kwokFlags(layout, ports)
	}
	return append([]string{component}, mergeFlags(flags, options.ExtraFlags[component])...)
}

func etcdFlags(layout Layout, ports Ports) []string {
	client, peer := "http://"+address(ports.EtcdClient), "http://"+address(ports.EtcdPeer)
	return []string{
		"--name=localcluster",
		"--data-dir=" + layout.etcdData(),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=localcluster=" + peer,
		"--unsafe-no-fsync", // a crash of the machine may take the data along: each `up` starts empty anyway
		fmt.Sprintf("--quota-backend-bytes=%d", etcdQuota),
		"--log-level=warn",
	}
}

func apiServerFlags(layout Layout, ports Ports) []string {
	return []string{
		"--etcd-servers=http://" + address(ports.EtcdClient),
		"--bind-address=" + localhost,
		"--advertise-address=" + localhost,
		fmt.Sprintf("--secure-port=%d", ports.APIServer),
		"--tls-cert-file=" + layout.servingCert(),
		"--tls-private-key-file=" + layout.servingKey(),
		"--token-auth-file=" + layout.tokenFile(),
		"--authorization-mode=RBAC",
		// As on clusters that are run strictly: an owner reference that blocks its owner's deletion requires a permission for the
		// owner's finalizers.
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + layout.serviceAccountPublicKey(),
		"--service-account-signing-key-file=" + layout.serviceAccountKey(),
		"--service-cluster-ip-range=" + serviceRange,
		"--endpoint-reconciler-type=none", // a Service must not point at a loopback address
		"--allow-privileged=true",
	}
}

func controllerManagerFlags(layout Layout, ports Ports, withoutDeploymentController bool) []string {
	controllers := "*"
	if withoutDeploymentController {
		controllers = "*,-deployment-controller"
	}
	kubeconfig := layout.componentKubeconfig(ControllerManager)
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, // lets the admin read its /metrics
		"--authentication-skip-lookup=true",         // there are no client certificates
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + localhost,
		fmt.Sprintf("--secure-port=%d", ports.ControllerManager),
		"--tls-cert-file=" + layout.servingCert(),
		"--tls-private-key-file=" + layout.servingKey(),
		"--controllers=" + controllers,
		"--leader-elect=false",
		"--service-account-private-key-file=" + layout.serviceAccountKey(),
		"--root-ca-file=" + layout.caCert(),
		fmt.Sprintf("--kube-api-qps=%d", clientQPS),
		fmt.Sprintf("--kube-api-burst=%d", clientBurst),
	}
}

func schedulerFlags(layout Layout, ports Ports) []string {
	kubeconfig := layout.componentKubeconfig(Scheduler)
	return []string{
		"--config=" + layout.schedulerConfig(),
		"--authentication-kubeconfig=" + kubeconfig,
		"--authentication-skip-lookup=true",
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + localhost,
		fmt.Sprintf("--secure-port=%d", ports.Scheduler),
		"--tls-cert-file=" + layout.servingCert(),
		"--tls-private-key-file=" + layout.servingKey(),
	}
}

func kwokFlags(layout Layout, ports Ports) []string {
	return []string{
		"--kubeconfig=" + layout.componentKubeconfig(KWOK),
		"--config=" + layout.kwokStages(),
		"--manage-all-nodes=true",
		"--node-lease-duration-seconds=40",
		"--node-ip=" + localhost,
		"--cidr=" + podRange,
		"--server-address=" + address(ports.KWOK),
	}
}

// mergeFlags returns the defaults followed by the extra flags. A default whose name an extra flag bears is left out:
// of most flags the last one wins anyway, but those that take lists would collect both values.
func mergeFlags(defaults, extra []string) []string {
	overridden := func(flag string) bool {
		return slices.ContainsFunc(extra, func(other string) bool { return flagName(other) == flagName(flag) })
	}
	merged := slices.DeleteFunc(slices.Clone(defaults), overridden)
	return append(merged, extra...)
}

// flagName returns the name under which a component knows a flag: --a_b=c, --a-b and etcd's -a-b are the same.
func flagName(flag string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
	return strings.ReplaceAll(name, "_", "-")
}
