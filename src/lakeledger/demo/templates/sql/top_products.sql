-- Every product by what it brought in, the best first.
select product,
       category,
       sum(quantity) as items,
       sum(amount) as revenue,
       count(distinct customer_id) as customers
  from silver.sales
 group by product, category
 order by revenue desc, product
