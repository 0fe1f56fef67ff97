// A pod source that has the pod whose manifest a server answers.
package main

import (
	"time"

	"witlet.dev/plugin/http"
	"witlet.dev/plugin/v0_2/podsource"
)

const (
	timeout          = 5 * time.Second
	manifestBytesMax = 1 << 20
)

// https is the pod source. Its fields are those of config: in the plugin's entry.
type https struct {
	URL string `json:"url"`
}

func (s https) Validate(func(warning string)) error {
	if s.URL == "" {
		return podsource.Invalid("url", "is needed")
	}
	return nil
}

func (s https) Poll(cursor string) (podsource.Poll, error) {
	response, err := http.Send(http.Request{URL: s.URL, BodyBytesMax: manifestBytesMax}, time.Now().Add(timeout))
	if err != nil {
		return podsource.Poll{}, podsource.Errorf("Unavailable", "%v", err)
	}
	var manifests []string
	switch response.Status {
	case 200:
		manifests = []string{string(response.Body)}
	case 204:
	default:
		return podsource.Poll{}, podsource.Errorf("Unavailable", "the server answers %d", response.Status)
	}
	current := podsource.Fingerprint(manifests...)
	if cursor == current {
		return podsource.Unchanged().At(current), nil
	}
	return podsource.All(manifests).At(current), nil
}

func init() { podsource.Export[https]() }

func main() {}
