import { Chart } from "chart.js";
document.title = Chart.name;
