package launcher

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// adminUser is the user of the kubeconfig that is handed out. Each component has a user of its own, so that the audit
// log shows which component did what; all of them are masters.
const adminUser = "admin"

// credentials are the bearer tokens of a cluster by user name.
type credentials map[string]string

func newCredentials(components []string) credentials {
	users := credentials{adminUser: randomToken()}
	for _, name := range components {
		users[userOf(name)] = randomToken()
	}
	return users
}

func userOf(component string) string { return "system:" + component }

func randomToken() string {
	token := make([]byte, 16)
	_, _ = rand.Read(token) // never fails: it ends the program instead
	return hex.EncodeToString(token)
}

// write writes the file for kube-apiserver's --token-auth-file.
func (c credentials) write(file string) error {
	var lines []string
	for user, token := range c {
		lines = append(lines, fmt.Sprintf("%s,%s,%s,%q\n", token, user, user, "system:masters"))
	}
	slices.Sort(lines)
	return os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600)
}

// writeKubeconfigs writes one kubeconfig for the user, in every place where it is wanted, and one for each component.
func writeKubeconfigs(layout Layout, ports Ports, users credentials, components []string, extraCopy string) error {
	ca, err := os.ReadFile(layout.caCert())
	if err != nil {
		return fmt.Errorf("read certificate authority: %w", err)
	}
	server := "https://" + address(ports.APIServer)
	files := map[string]string{layout.kubeconfig(): adminUser}
	if extraCopy != "" {
		files[extraCopy] = adminUser
	}
	for _, name := range components {
		files[layout.componentKubeconfig(name)] = userOf(name)
	}
	for file, user := range files {
		if err := writeKubeconfig(file, server, ca, user, users[user]); err != nil {
			return err
		}
	}
	return nil
}

func writeKubeconfig(file, server string, ca []byte, user, token string) error {
	const name = "localcluster"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

// UseDefaultKubeconfig points kubectl at the cluster in the default directory, if there is one and the user named no
// other by --kubeconfig or KUBECONFIG.
func UseDefaultKubeconfig(arguments []string) {
	if os.Getenv("KUBECONFIG") != "" || slices.ContainsFunc(arguments, namesKubeconfig) {
		return
	}
	file := filepath.Join(defaultDirectory, "kubeconfig")
	if _, err := os.Stat(file); err == nil {
		_ = os.Setenv("KUBECONFIG", file) // fails only for invalid names
	}
}

func namesKubeconfig(argument string) bool {
	return argument == "--kubeconfig" || strings.HasPrefix(argument, "--kubeconfig=")
}
