"""Sentences in ten scripts, and with emoji, made from small vocabularies written for these tests."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

ENGLISH = """time year people way day man thing woman life child world school state family student group
country problem hand part place case week company system program question work government number night point
home water room mother area money story fact month lot right study book eye job word business issue side
kind head house service friend father power hour game line end member law car city community name president
team minute idea kid body information back parent face others level office door health person art war
history party result change morning reason research girl guy moment air teacher force education foot boy age
policy music market river bridge harbour garden winter summer bread letter window table street field forest
stone paper glass island mountain valley engine ticket village castle cheese butter basket bottle candle
carpet ceiling copper corner cotton dinner doctor dragon driver"""
GERMAN = """Zeit Jahr Mensch Weg Tag Mann Ding Frau Leben Kind Welt Schule Staat Familie Schüler Gruppe Land
Problem Hand Teil Ort Fall Woche Firma System Programm Frage Arbeit Regierung Zahl Nacht Punkt Heim Wasser
Zimmer Mutter Gebiet Geld Geschichte Tatsache Monat Recht Studie Buch Auge Beruf Wort Geschäft Seite Art
Kopf Haus Dienst Freund Vater Macht Stunde Spiel Linie Ende Mitglied Gesetz Wagen Stadt Gemeinde Name
Präsident Mannschaft Minute Idee Körper Auskunft Rücken Eltern Gesicht Stufe Büro Tür Gesundheit Person
Kunst Krieg Partei Ergebnis Änderung Morgen Grund Forschung Mädchen Augenblick Luft Lehrer Kraft Bildung Fuß
Junge Alter Politik Musik Markt Fluss Brücke Hafen Garten Winter Sommer Brot Brief Fenster Tisch Straße Feld
Wald Stein Papier Glas Insel Berg Tal Motor Fahrkarte Dorf Schloss Käse Butter Korb Flasche Kerze Teppich
Decke Kupfer Ecke Baumwolle Abendessen Arzt Drache Fahrer Größe Höhe Übung Öffnung"""
ARABIC = """وقت سنة ناس طريق يوم رجل شيء امرأة حياة طفل عالم مدرسة دولة عائلة طالب مجموعة بلد مشكلة يد جزء
مكان حالة أسبوع شركة نظام برنامج سؤال عمل حكومة رقم ليل نقطة بيت ماء غرفة أم منطقة مال قصة حقيقة شهر حق
دراسة كتاب عين وظيفة كلمة تجارة قضية جانب نوع رأس منزل خدمة صديق أب قوة ساعة لعبة خط نهاية عضو قانون سيارة
مدينة مجتمع اسم رئيس فريق دقيقة فكرة جسم معلومة ظهر والد وجه مستوى مكتب باب صحة شخص فن حرب تاريخ حزب نتيجة
تغيير صباح سبب بحث بنت لحظة هواء معلم تعليم قدم ولد عمر سياسة موسيقى سوق نهر جسر ميناء حديقة شتاء صيف خبز
رسالة نافذة طاولة شارع حقل غابة حجر ورق زجاج جزيرة جبل واد محرك تذكرة قرية قلعة جبن زبدة سلة زجاجة شمعة
سجادة سقف نحاس زاوية قطن عشاء طبيب تنين سائق"""
HINDI = """समय साल लोग रास्ता दिन आदमी चीज़ औरत जीवन बच्चा दुनिया विद्यालय राज्य परिवार छात्र समूह देश
समस्या हाथ भाग जगह मामला सप्ताह कंपनी प्रणाली कार्यक्रम प्रश्न काम सरकार संख्या रात बिंदु घर पानी कमरा माता
क्षेत्र धन कहानी तथ्य महीना अधिकार अध्ययन किताब आँख नौकरी शब्द व्यापार मुद्दा पक्ष प्रकार सिर मकान सेवा
मित्र पिता शक्ति घंटा खेल रेखा अंत सदस्य कानून गाड़ी शहर समुदाय नाम राष्ट्रपति दल मिनट विचार शरीर जानकारी
पीठ चेहरा स्तर कार्यालय दरवाज़ा स्वास्थ्य व्यक्ति कला युद्ध इतिहास परिणाम परिवर्तन सुबह कारण शोध लड़की क्षण
हवा शिक्षक बल शिक्षा पैर लड़का आयु नीति संगीत बाज़ार नदी पुल बंदरगाह बगीचा सर्दी गर्मी रोटी पत्र खिड़की मेज़
सड़क खेत जंगल पत्थर काग़ज़ काँच द्वीप पहाड़ घाटी इंजन टिकट गाँव किला पनीर मक्खन टोकरी बोतल मोमबत्ती क़ालीन
छत ताँबा कोना कपास भोजन चिकित्सक अजगर चालक"""
KOREAN = """시간 년도 사람 방법 하루 남자 물건 여자 인생 아이 세계 학교 국가 가족 학생 단체 나라 문제 손길
부분 장소 경우 일주일 회사 제도 계획 질문 작업 정부 숫자 밤중 지점 가정 물가 방안 어머니 지역 돈벌이 이야기
사실 한달 권리 연구 책상 눈물 직업 단어 사업 쟁점 옆면 종류 머리 주택 봉사 친구 아버지 권력 시각 놀이 직선
마지막 회원 법률 자동차 도시 공동체 이름 대통령 팀장 분초 생각 신체 정보 등산 부모 얼굴 수준 사무실 대문
건강 개인 예술 전쟁 역사 정당 결과 변화 아침 이유 조사 소녀 순간 공기 교사 교육 발자국 소년 나이 정책 음악
시장 강물 다리 항구 정원 겨울 여름 빵집 편지 창문 탁자 거리 들판 숲길 바위 종이 유리 섬마을 산맥 골짜기
기관차 차표 마을 성벽 치즈 버터 바구니 유리병 양초 융단 천장 구리 모퉁이 면화 저녁 의사 용궁 기사"""
CHINESE = """时间 年份 人民 道路 日子 男人 事物 女人 生活 孩子 世界 学校 国家 家庭 学生 小组 乡村 问题 手掌
部分 地方 情况 星期 公司 系统 计划 提问 工作 政府 数字 夜晚 要点 房屋 河水 房间 母亲 区域 金钱 故事 事实
月份 权利 研究 书本 眼睛 职业 词语 商业 议题 旁边 种类 头脑 住宅 服务 朋友 父亲 力量 钟头 游戏 线条 结尾
成员 法律 汽车 城市 社区 姓名 总统 球队 分钟 主意 身体 信息 背后 父母 脸孔 水平 办公 门口 健康 个人 艺术
战争 历史 政党 结果 变化 早晨 原因 调查 女孩 瞬间 空气 教师 教育 双脚 男孩 年龄 政策 音乐 市场 江河 桥梁
港湾 花园 冬季 夏天 面包 信件 窗户 桌子 街道 田野 森林 石块 纸张 玻璃 岛屿 山脉 峡谷 引擎 车票 村庄 城堡
奶酪 黄油 篮筐 瓶子 蜡烛 地毯 天花 铜器 角落 棉花 晚餐 医生 飞龙 司机"""
JAPANESE = """時間 年月 ひとびと 道のり 一日 男の人 ものごと 女の人 くらし こども 世の中 がっこう 国家
かぞく 学生 グループ いなか 問題 てのひら 部分 ばしょ 場合 一週間 かいしゃ システム プログラム しつもん 仕事
政府 すうじ よなか 要点 わが家 みず 部屋 はは 地域 お金 ものがたり 事実 つきひ 権利 研究 ほん 目玉
しょくぎょう ことば 商売 争点 よこ 種類 あたま すまい サービス ともだち ちち ちから 一時間 ゲーム せん
おわり メンバー 法律 くるま 都市 まち なまえ 大統領 チーム 一分 アイデア からだ 情報 せなか りょうしん かお
水準 事務所 とびら 健康 ひと げいじゅつ 戦争 歴史 政党 けっか 変化 あさ りゆう 調査 むすめ 瞬間 くうき 先生
教育 あし 少年 とし 政策 おんがく 市場 かわ 橋 みなと にわ 冬 夏 パン てがみ まど テーブル 通り はらっぱ 森
いし かみ ガラス しま 山 たに エンジン きっぷ 村 お城 チーズ バター かご びん ろうそく じゅうたん 天井 銅
かど わた 夕食 医者 りゅう 運転手"""
THAI = """เวลา ปี ผู้คน ทาง วัน ผู้ชาย สิ่งของ ผู้หญิง ชีวิต เด็ก โลก โรงเรียน รัฐ ครอบครัว นักเรียน กลุ่ม
ประเทศ ปัญหา มือ ส่วน สถานที่ กรณี สัปดาห์ บริษัท ระบบ โครงการ คำถาม งาน รัฐบาล ตัวเลข กลางคืน จุด บ้าน น้ำ
ห้อง แม่ พื้นที่ เงิน เรื่อง ความจริง เดือน สิทธิ การศึกษา หนังสือ ตา อาชีพ คำ ธุรกิจ ประเด็น ข้าง ชนิด หัว
อาคาร บริการ เพื่อน พ่อ อำนาจ ชั่วโมง เกม เส้น ตอนจบ สมาชิก กฎหมาย รถยนต์ เมือง ชุมชน ชื่อ ประธานาธิบดี ทีม
นาที ความคิด ร่างกาย ข้อมูล หลัง พ่อแม่ ใบหน้า ระดับ สำนักงาน ประตู สุขภาพ บุคคล ศิลปะ สงคราม ประวัติศาสตร์
พรรค ผลลัพธ์ ความเปลี่ยนแปลง เช้า เหตุผล วิจัย เด็กหญิง ขณะ อากาศ ครู กำลัง เท้า เด็กชาย อายุ นโยบาย ดนตรี
ตลาด แม่น้ำ สะพาน ท่าเรือ สวน ฤดูหนาว ฤดูร้อน ขนมปัง จดหมาย หน้าต่าง โต๊ะ ถนน ทุ่งนา ป่า หิน กระดาษ แก้ว
เกาะ ภูเขา หุบเขา เครื่องยนต์ ตั๋ว หมู่บ้าน ปราสาท เนยแข็ง เนย ตะกร้า ขวด เทียน พรม เพดาน ทองแดง มุม ฝ้าย
อาหารเย็น หมอ มังกร คนขับ"""
RUSSIAN = """время год люди дорога день мужчина вещь женщина жизнь ребёнок мир школа государство семья студент группа
страна задача рука часть место случай неделя компания система программа вопрос работа правительство число ночь
точка дом вода комната мать область деньги история факт месяц право учёба книга глаз профессия слово торговля
сторона вид голова служба друг отец сила час игра линия конец член закон машина город община имя президент
команда минута мысль тело сведение спина родители лицо уровень контора дверь здоровье личность искусство война
партия итог перемена утро причина исследование девочка мгновение воздух учитель образование нога мальчик возраст
политика музыка рынок река мост гавань сад зима лето хлеб письмо окно стол улица поле лес камень бумага стекло
остров гора долина двигатель билет деревня замок сыр масло корзина бутылка свеча ковёр потолок медь угол хлопок"""
GREEK = """χρόνος έτος άνθρωποι δρόμος ημέρα άντρας πράγμα γυναίκα ζωή παιδί κόσμος σχολείο κράτος οικογένεια μαθητής
ομάδα χώρα πρόβλημα χέρι μέρος τόπος περίπτωση εβδομάδα εταιρεία σύστημα πρόγραμμα ερώτηση εργασία κυβέρνηση αριθμός
νύχτα σημείο σπίτι νερό δωμάτιο μητέρα περιοχή χρήμα ιστορία γεγονός μήνας δικαίωμα μελέτη βιβλίο μάτι επάγγελμα λέξη
εμπόριο πλευρά είδος κεφάλι υπηρεσία φίλος πατέρας δύναμη ώρα παιχνίδι γραμμή τέλος μέλος νόμος αυτοκίνητο πόλη
κοινότητα όνομα πρόεδρος λεπτό ιδέα σώμα πληροφορία πλάτη γονείς πρόσωπο επίπεδο γραφείο πόρτα υγεία τέχνη πόλεμος
κόμμα αποτέλεσμα αλλαγή πρωί αιτία έρευνα κορίτσι στιγμή αέρας δάσκαλος παιδεία πόδι αγόρι ηλικία πολιτική μουσική
αγορά ποτάμι γέφυρα λιμάνι κήπος χειμώνας καλοκαίρι ψωμί γράμμα παράθυρο τραπέζι οδός χωράφι δάσος πέτρα χαρτί γυαλί
νησί βουνό κοιλάδα μηχανή εισιτήριο χωριό κάστρο τυρί βούτυρο καλάθι μπουκάλι κερί χαλί ταβάνι χαλκός γωνία βαμβάκι"""
EMOJI = """😀 😂 🥲 😍 🤔 😴 🤯 🥳 😎 🙄 👍 👎 👏 🙏 💪 🤝 👀 🧠 ❤️ 💔 🔥 ✨ 🎉 🎂 🎁 🎈 🏆 ⚽ 🏀 🎾 🎸 🎹
🎬 📷 📱 💻 📚 ✏️ 📅 📌 🔒 🔑 💡 🔋 ⏰ ☎️ ✉️ 📦 🛒 💰 💳 🚗 🚌 🚲 ✈️ 🚀 ⛵ 🚦 🏠 🏥 🏫 🏰 ⛺ 🌍 🌙 ⭐ ☀️ 🌧️
⛄ 🌈 🌊 🌵 🌲 🌻 🌹 🍀 🍎 🍌 🍓 🍕 🍔 🍟 🍣 🍩 🍪 ☕ 🍺 🍷 🐶 🐱 🐭 🐰 🦊 🐻 🐼 🐸 🐵 🐔 🦄 🐝 🦋 🐢 🐙 🐬
🐳 🦈 👨‍👩‍👧 👩‍💻 🏳️‍🌈 👍🏽 🇫🇷 🇯🇵"""


@dataclass(frozen=True)
class Script:
    words: tuple[str, ...]
    between: str = " "
    stop: str = ". "

    def sentence(self, draw: Random) -> list[str]:
        return draw.choices(self.words, k=draw.randrange(6, 13))

    def written(self, sentences: list[list[str]]) -> str:
        return "".join(self.between.join(sentence) + self.stop for sentence in sentences).strip()


SCRIPTS = {
    "English": Script(tuple(ENGLISH.split())),
    "German": Script(tuple(GERMAN.split())),
    "Arabic": Script(tuple(ARABIC.split())),
    "Hindi": Script(tuple(HINDI.split()), stop="। "),
    "Chinese": Script(tuple(CHINESE.split()), "", "。"),
    "Japanese": Script(tuple(JAPANESE.split()), "", "。"),
    "Korean": Script(tuple(KOREAN.split())),
    "Thai": Script(tuple(THAI.split()), "", " "),
    "Russian": Script(tuple(RUSSIAN.split())),
    "Greek": Script(tuple(GREEK.split())),
    "emoji": Script(tuple(ENGLISH.split()[:60]) + tuple(EMOJI.split()), " ", "! "),
}


def edited(tokens: list[str], units: tuple[str, ...], rate: float, seed: int) -> list[str]:
    """The tokens with a share of them replaced, dropped or added to; the seed decides where, for every script alike."""
    where, what = Random(seed), Random(f"units {seed}")
    found = list(tokens)
    for _ in range(round(rate * len(tokens))):
        place, kind = where.randrange(len(found)), where.randrange(3)
        if kind == 0:
            found[place] = what.choice(units)
        elif kind == 1:
            del found[place]
        else:
            found.insert(place, what.choice(units))
    return found
