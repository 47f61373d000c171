"""What the demo's shop sells, and the people and places it sells to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """One thing on the shelf. `weight` says how often it is bought."""

    sku: str
    name: str
    category: str
    cents: int
    weight: int


PRODUCTS = (
    Product("COF-01", "House Espresso 1 kg", "coffee", 2190, 30),
    Product("COF-02", "Ethiopia Guji 250 g", "coffee", 1190, 22),
    Product("COF-03", "Decaf Sugarcane 250 g", "coffee", 1090, 9),
    Product("COF-04", "Cold Brew Pouches, 6", "coffee", 1450, 11),
    Product("TEA-01", "Sencha 100 g", "tea", 990, 12),
    Product("TEA-02", "Earl Grey 100 g", "tea", 790, 14),
    Product("TEA-03", "Rooibos Vanilla 150 g", "tea", 850, 8),
    Product("BRW-01", "Pour-over Dripper", "brewing", 2450, 7),
    Product("BRW-02", "Paper Filters, 100", "brewing", 590, 24),
    Product("BRW-03", "Gooseneck Kettle", "brewing", 7900, 3),
    Product("BRW-04", "French Press 1 l", "brewing", 3490, 5),
    Product("GRD-01", "Hand Grinder", "grinders", 8900, 3),
    Product("GRD-02", "Electric Grinder", "grinders", 21900, 1),
    Product("CUP-01", "Stoneware Mug", "cups", 1690, 13),
    Product("CUP-02", "Travel Cup 350 ml", "cups", 2290, 10),
    Product("CUP-03", "Espresso Cups, set of 4", "cups", 3290, 5),
    Product("SWT-01", "Almond Biscotti", "sweets", 650, 16),
    Product("SWT-02", "Dark Chocolate 70 %", "sweets", 450, 18),
    Product("GFT-01", "Gift Card 25", "gifts", 2500, 4),
    Product("GFT-02", "Tasting Box", "gifts", 3900, 6),
)

PLACES = (
    ("Berlin", "DE", 14), ("Hamburg", "DE", 9), ("München", "DE", 9), ("Leipzig", "DE", 4),
    ("Wien", "AT", 8), ("Graz", "AT", 3), ("Zürich", "CH", 7), ("Basel", "CH", 3),
    ("Paris", "FR", 9), ("Lyon", "FR", 4), ("Amsterdam", "NL", 8), ("Utrecht", "NL", 3),
    ("København", "DK", 5), ("Milano", "IT", 6), ("Madrid", "ES", 5), ("Lisboa", "PT", 3),
)  # fmt: skip

FIRST_NAMES = (
    "Amélie", "Ana", "Anders", "Anna", "Bruno", "Carla", "Chiara", "Clara", "Daan", "David", "Elena", "Emil", "Emma", "Felix",
    "Freja", "Giulia", "Hanna", "Hugo", "Ida", "Inês", "Jan", "Jonas", "Julia", "Katrin", "Lars", "Lena", "Leon", "Louis", "Lucía",
    "Luuk", "Marco", "Maria", "Marie", "Mateo", "Mats", "Mia", "Nina", "Noah", "Olivia", "Paul", "Pedro", "Sanne", "Sofia", "Theo",
)  # fmt: skip

LAST_NAMES = (
    "Almeida", "Andersen", "Bakker", "Bauer", "Bernard", "Bianchi", "Costa", "De Vries", "Dubois", "Esposito", "Fischer", "Garcia",
    "Gruber", "Hansen", "Hofmann", "Huber", "Jansen", "Keller", "Koch", "Lambert", "Lopez", "Martin", "Meier", "Moreau", "Müller",
    "Nielsen", "Novak", "Pereira", "Petit", "Richter", "Romano", "Rossi", "Santos", "Schmid", "Schneider", "Smit", "Visser", "Weber",
)  # fmt: skip

CHANNELS = (("web", 60), ("app", 32), ("phone", 3), ("market", 5))
