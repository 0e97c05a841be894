package embedding_test

import "testing"

func TestUnderstands(t *testing.T) {
	tests := map[bool][]string{
		true: {
			"Which restaurant did Amelia recommend to us?",
			"I moved to a smaller flat near the harbour in March.",
			"My dentist appointment is on Tuesday at nine.",
			"did u find teh keys yesterday",
			"coffee",
			"wifi password",
			"Los Angeles trip",
			"MIT application deadline",
			"What's Müller's phone number?",
			"a table in the café by the station",
			"I met Наташа at the ballet yesterday",
			"2024-05-03",
			"我上个月换了一份新工作",
			"妹妹現在住在哪裡",
			"Amelia 推荐了哪家餐厅？",
			"C盘满了",
		},
		false: {
			"", " ", "?!", "😀",
			"Welches Restaurant hat Amelia uns empfohlen?",
			"Ich bin im März in eine kleinere Wohnung gezogen.",
			"Der Termin beim Zahnarzt ist am Dienstag um neun.",
			"Quel restaurant Amelia nous a-t-elle conseillé ?",
			"J'ai déménagé en mars dans un appartement plus petit.",
			"Le rendez-vous chez le dentiste est mardi à neuf heures.",
			"¿Qué restaurante nos recomendó Amelia?",
			"En marzo me mudé a un piso más pequeño.",
			"La cita con el dentista es el martes a las nueve.",
			"Quale ristorante ci ha consigliato Amelia?",
			"Que restaurante a Amelia nos recomendou?",
			"Welk restaurant heeft Amelia ons aangeraden?",
			"Vilken restaurang rekommenderade Amelia för oss?",
			"Którą restaurację poleciła nam Amelia?",
			"Amelia bize hangi restoranı önerdi?",
			"Amelia đã giới thiệu nhà hàng nào cho chúng tôi?",
			"Какой ресторан нам посоветовала Амелия?",
			"В марте я переехал в квартиру поменьше.",
			"アメリアはどのレストランを勧めましたか？",
			"三月に小さい部屋に引っ越しました。",
			"아멜리아가 어느 식당을 추천했어요?",
			"3월에 더 작은 집으로 이사했어요.",
			"أي مطعم أوصت به أميليا؟",
			"אמליה המליצה על המסעדה הזאת",
		},
	}
	e := newBuiltin()
	for want, texts := range tests {
		for _, text := range texts {
			if got := e.Understands(text); got != want {
				t.Errorf("Understands(%q) = %v, coverage %.2f", text, got, e.Coverage(text))
			}
		}
	}
}

func BenchmarkUnderstands(b *testing.B) {
	e := newBuiltin()
	for b.Loop() {
		e.Understands("Which restaurant did Amelia recommend to us?")
	}
}
