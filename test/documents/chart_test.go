package documents

import (
	"encoding/base64"
	"encoding/xml"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The chart is released with the controller, and by default installs the same version.
func TestTheChartHasTheVersionOfTheController(t *testing.T) {
	encoded, err := os.ReadFile("charts/kubernetes-deployment-restart-controller/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ Version, AppVersion string }
	if err := yaml.Unmarshal(encoded, &chart); err != nil {
		t.Fatal(err)
	}
	if version := programVersion(t); chart.Version != version || chart.AppVersion != version {
		t.Errorf("the chart has the version %s and the appVersion %s, the controller %s", chart.Version, chart.AppVersion, version)
	}
}

// What Artifact Hub reads of a chart: https://artifacthub.io/docs/topics/annotations/helm.
type publishedChart struct {
	Home, Icon, AppVersion string
	Keywords, Sources      []string
	Maintainers            []struct{ Name, URL string }
	Annotations            map[string]string
}

// All links begin with one URL, so that only one is to be set before the chart is published.
func TestTheChartCanBePublished(t *testing.T) {
	var chart publishedChart
	text := readDocument(t, "charts/kubernetes-deployment-restart-controller/Chart.yaml")
	if err := yaml.Unmarshal([]byte(text), &chart); err != nil {
		t.Fatal(err)
	}
	home, err := url.Parse(chart.Home)
	if err != nil || home.Scheme != "https" || home.Host == "" {
		t.Errorf("the home is %q, %v", chart.Home, err)
	}
	for _, link := range regexp.MustCompile(`https?://[^\s\]]+`).FindAllString(text, -1) {
		if !strings.HasPrefix(link, chart.Home) {
			t.Errorf("%s is not below %s", link, chart.Home)
		}
		if _, file, isFile := strings.Cut(link, "/blob/HEAD/"); isFile {
			readDocument(t, file)
		}
	}
	if len(chart.Keywords) < 4 || !slices.Equal(chart.Sources, []string{chart.Home}) || len(chart.Maintainers) != 1 || chart.Maintainers[0].Name == "" {
		t.Errorf("the chart is %+v", chart)
	}
	encoded, isData := strings.CutPrefix(chart.Icon, "data:image/svg+xml;base64,")
	icon, err := base64.StdEncoding.DecodeString(encoded)
	if !isData || err != nil || xml.Unmarshal(icon, new(struct {
		XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
	})) != nil {
		t.Errorf("the icon is %s, %v", icon, err)
	}
}

func TestTheAnnotationsOfTheChartAreThoseOfArtifactHub(t *testing.T) {
	var chart publishedChart
	if err := yaml.Unmarshal([]byte(readDocument(t, "charts/kubernetes-deployment-restart-controller/Chart.yaml")), &chart); err != nil {
		t.Fatal(err)
	}
	var links []struct{ Name, URL string }
	var images []struct {
		Name, Image string
		Platforms   []string
	}
	if err := yaml.UnmarshalStrict([]byte(chart.Annotations["artifacthub.io/links"]), &links); err != nil || len(links) == 0 {
		t.Errorf("links: %v, %v", links, err)
	}
	if err := yaml.UnmarshalStrict([]byte(chart.Annotations["artifacthub.io/images"]), &images); err != nil || len(images) != 1 ||
		!strings.HasSuffix(images[0].Image, module+":"+programVersion(t)) || !slices.Equal(images[0].Platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("images: %v, %v", images, err)
	}
	if license := chart.Annotations["artifacthub.io/license"]; license != "Apache-2.0" || !strings.Contains(readDocument(t, "LICENSE"), "Version 2.0, January 2004") {
		t.Errorf("the license is %s", license)
	}
}
