package host

import "testing"

func TestAConfigurationIsDecodedOnce(t *testing.T) {
	config := NewConfig[struct{}]()
	first, err := config.Get()
	second, _ := config.Get()
	if err != nil || first != second {
		t.Errorf("%p, %p, %v", first, second, err)
	}
}
